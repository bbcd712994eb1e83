"""Requests in HTTP/1.1 with TLS, one or many at a time."""

import collections, json, socket, ssl, time

TOKEN, CONNECTIONS = "token-of-the-comparison", 16


class Connection:
    """HTTP/1.1 on a socket with TLS, whose requests and answers are separate."""

    context = ssl._create_unverified_context()

    def __init__(self, port):
        plain = socket.create_connection(("127.0.0.1", port), timeout=120)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket, self.buffer = self.context.wrap_socket(plain), b""

    def more(self):
        piece = self.socket.recv(1 << 18)
        if not piece:
            raise ConnectionError("the server closed the connection")
        self.buffer += piece

    def line(self):
        while b"\r\n" not in self.buffer:
            self.more()
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def take(self, size):
        parts = []
        while size:
            if not self.buffer:
                self.more()
            part, self.buffer = self.buffer[:size], self.buffer[size:]
            size -= len(part)
            parts.append(part)
        return b"".join(parts)

    def head(self):
        """Reads the head of an answer, and returns its code and the length of the body, if it has one."""
        code, length = int(self.line().split()[1]), None
        while line := self.line():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return code, length

    def answer(self):
        code, length = self.head()
        if length is not None:
            return code, self.take(length)
        parts = []
        while size := int(self.line(), 16):
            parts.append(self.take(size))
            self.line()
        self.line()
        return code, b"".join(parts)

    def ask(self, request, *expected):
        self.socket.sendall(request)
        code, body = self.answer()
        if code not in (expected or (200, 201)):
            raise RuntimeError(f"{request.split(b' HTTP', 1)[0].decode()}: {code} {body[:500].decode(errors='replace')}")
        return body

    def close(self):
        self.socket.close()


def request(method, path, body=None, content="application/json"):
    body = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {len(body)}\r\n"
    return (head + (f"Content-Type: {content}\r\n" if body else "") + "\r\n").encode() + body


def pour(server, requests, limit=1800):
    """Sends all requests, each as soon as a connection is free, and returns the seconds that took."""
    waiting, free = collections.deque(), [Connection(server.port) for _ in range(4 * CONNECTIONS)]
    began = time.monotonic()

    def finish():
        connection, text = waiting.popleft()
        code, body = connection.answer()
        if code not in (200, 201):
            raise RuntimeError(f"{text.split(b' HTTP', 1)[0].decode()}: {code} {body[:500].decode(errors='replace')}")
        free.append(connection)

    for text in requests:
        if not free:
            finish()
        if time.monotonic() - began > limit:
            raise TimeoutError(f"{server.column} did not take all objects in {limit} s")
        connection = free.pop()
        connection.socket.sendall(text)
        waiting.append((connection, text))
    while waiting:
        finish()
    for connection in free:
        connection.close()
    return time.monotonic() - began
