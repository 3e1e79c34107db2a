CC := gcc # DEF var CC
all: build # DEF target all
	echo done: x
.PHONY: all
build: # DEF target build
	$(CC) x
