# cmake -DIN=FILE -DOUT=FILE -P embed.cmake: the bytes of IN as the inside of a C array.
file(READ ${IN} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "${bytes}\n")
