"""Module doc
def not_this(): pass
"""
import os
LIMIT = 10  # DEF var LIMIT
name: str = "def x():"  # DEF var name

class Server(Base):  # DEF class Server
    timeout = 3  # DEF var Server.timeout

    def __init__(self):  # DEF method Server.__init__
        x = 1
        def inner():  # DEF function inner
            pass

    async def shutdown(self, *, wait=True):  # DEF method Server.shutdown
        '''def nor_this(): '''
        if x == 1:
            self.y = 2

    class Meta:  # DEF class Server.Meta
        pass

def top(a,  # DEF function top
        b):
    s = 'it\'s def z():'
    return a
if __name__ == "__main__":
    top(1, 2)
