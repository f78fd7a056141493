import { type Project, rowsOf } from './project.ts'

const script = `
  mkdir -p shop tests scripts
  printf '__version__ = "1.0"\\nfrom .sums import add\\n' > shop/__init__.py
  printf 'def add(a, b):\\n    return a + b\\n' > shop/sums.py
  printf 'import sys\\nprint("main", sys.argv[1:])\\n' > shop/__main__.py
  cat > shop/store.py <<'E'
import sqlite3
def fill(path):
    with sqlite3.connect(path) as db:
        db.execute('create table if not exists t (a integer)')
        db.executemany('insert into t values (?)', [(n,) for n in range(100)])
        return db.execute('select sum(a) from t').fetchone()[0]
E
  cat > tests/test_sums.py <<'E'
import unittest
from shop import add
class Sums(unittest.TestCase):
    def test_adds(self): self.assertEqual(add(1, 2), 3)
    def test_texts(self): self.assertEqual(add('a', 'b'), 'ab')
E
  cat > tests/test_store.py <<'E'
import os, tempfile, unittest
from shop.store import fill
class Store(unittest.TestCase):
    def test_fills(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(fill(os.path.join(folder, 'x.db')), 4950)
E
  cat > tests/test_sockets.py <<'E'
import os, socket, socketserver, tempfile, threading, unittest, urllib.request, http.server
class Sockets(unittest.TestCase):
    def test_http(self):
        class Quiet(http.server.BaseHTTPRequestHandler):
            def do_GET(self): self.send_response(200); self.end_headers(); self.wfile.write(b'hello')
            def log_message(self, *_): pass
        with http.server.HTTPServer(('127.0.0.1', 0), Quiet) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            with urllib.request.urlopen('http://127.0.0.1:%d' % server.server_address[1]) as answer: self.assertEqual(answer.read(), b'hello')
            server.shutdown()
    def test_localhost(self):
        with socket.create_server(('localhost', 0)) as server:
            with socket.create_connection(server.getsockname()[:2]): pass
    def test_unix(self):
        with tempfile.TemporaryDirectory() as folder:
            place = os.path.join(folder, 's')
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(place); server.listen()
                with socket.socket(socket.AF_UNIX) as client: client.connect(place)
E
  cat > tests/test_processes.py <<'E'
import multiprocessing, subprocess, sys, unittest
def square(n): return n * n
class Processes(unittest.TestCase):
    def test_pool(self):
        with multiprocessing.Pool(2) as pool: self.assertEqual(pool.map(square, range(5)), [0, 1, 4, 9, 16])
    def test_child(self):
        self.assertEqual(subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True, text=True).stdout, '1\\n')
    def test_shared(self):
        value = multiprocessing.Value('i', 0)
        def work():
            with value.get_lock(): value.value += 1
        process = multiprocessing.get_context('fork').Process(target=work); process.start(); process.join()
        self.assertEqual(value.value, 1)
E
  printf 'def test_one(): assert 1\\ndef test_two(tmp_path, capsys):\\n    (tmp_path / "a").write_text("x")\\n    print("seen")\\n    assert "seen" in capsys.readouterr().out\\n' > tests/test_plain.py
  printf 'def test_bad():\\n    assert 1 == 2\\n' > tests/bad_plain.py
  printf '[build-system]\\nrequires = ["setuptools"]\\nbuild-backend = "setuptools.build_meta"\\n[project]\\nname = "shop"\\nversion = "1.0"\\n[tool.pytest.ini_options]\\naddopts = "-q"\\n' > pyproject.toml
  printf 'import urllib.request\\ntry: urllib.request.urlopen("http://example.org", timeout=30)\\nexcept Exception as error: print(error); raise SystemExit(4)\\n' > scripts/reach.py
  printf 'import socket\\ntry: socket.create_connection(("1.1.1.1", 80), timeout=30)\\nexcept OSError as error: print(error); raise SystemExit(4)\\n' > scripts/connect.py
  printf 'import subprocess, sys\\nsys.exit(subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "six"]).returncode)\\n' > scripts/get.py
  printf 'open(".git/hooks/pre-commit", "w").write("#!/bin/sh\\\\necho x\\\\n")\\nprint("hook written")\\n' > scripts/hook.py
  printf 'import subprocess\\nsubprocess.run(["git", "checkout", "-q", "--", "."])\\nprint("back")\\n' > scripts/back.py
  printf 'import os, shutil\\nfor root, dirs, files in os.walk("."):\\n    for d in [d for d in dirs if d == "__pycache__"]: shutil.rmtree(os.path.join(root, d))\\nprint("clean")\\n' > scripts/clean.py
  printf 'import pathlib, zipapp\\npathlib.Path("dist").mkdir(exist_ok=True)\\nzipapp.create_archive("shop", "dist/shop.pyz")\\nprint("built")\\n' > scripts/build.py
  printf '.PHONY: test build\\ntest:\\n\\tpython3 -m unittest -q\\nbuild:\\n\\tpython3 scripts/build.py\\n' > Makefile
  printf '__pycache__\\n*.pyc\\ndist\\n.pytest_cache\\n*.db\\nvenv\\n' > .gitignore
  mkdir -p .git; git init -q --template=; mkdir -p .git/hooks; git add -A; git commit -qm first; echo '# more' >> shop/sums.py`

const rows = [
  ...rowsOf(`
    python3 -m unittest
    python3 -m unittest -v tests.test_sums
    python3 -m unittest tests.test_store tests.test_processes
    python3 -m unittest -v tests.test_sockets
    python3 -m unittest -q && git status --short --ignored
    python3 -m shop a b
    python3 -c 'import shop; print(shop.add(1, 2), shop.__version__)'
    python3 -m compileall -q shop && ls shop/__pycache__
    python3 -m compileall shop
    python3 -OO -m compileall -q shop; ls shop/__pycache__ | sort
    python3 -m py_compile shop/sums.py && echo compiled
    PYTHONDONTWRITEBYTECODE=1 python3 -c 'import shop' && ls shop
    python3 scripts/build.py && python3 dist/shop.pyz x
    make test
    make build && make -n build
    python3 -c 'from shop.store import fill; print(fill("shop.db"))' && ls *.db
    python3 -c 'import sqlite3; db = sqlite3.connect("wal.db"); print(db.execute("pragma journal_mode=wal").fetchone()); db.execute("create table t (a)"); db.commit()' && ls *.db*
    python3 -c 'import tempfile, os; f = tempfile.NamedTemporaryFile(delete=False); f.write(b"x"); f.close(); print(os.path.getsize(f.name))'
    python3 -c 'import multiprocessing as m; q = m.Queue(); p = m.Process(target=q.put, args=(7,)); p.start(); print(q.get()); p.join()'
    python3 -c 'from concurrent.futures import ProcessPoolExecutor as P; print(sum(P(2).map(abs, [-1, -2, -3])))'
    python3 -c 'import asyncio; print(asyncio.run(asyncio.sleep(0, "slept")))'
    python3 -c 'import threading; t = threading.Thread(target=lambda: print("thread")); t.start(); t.join()'
    python3 -c 'import os, signal; os.kill(os.getpid(), signal.SIGTERM)'; echo $?
    python3 -c 'import os; pid = os.fork(); os._exit(3) if pid == 0 else print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))'
    python3 -c 'import os, pty; print(len(pty.openpty()))'
    python3 -c 'import mmap, os; f = open("m", "wb+"); f.truncate(4096); m = mmap.mmap(f.fileno(), 4096); m[:2] = b"ok"; m.flush()' && head -c2 m
    python3 -c 'import fcntl; f = open("lock", "w"); fcntl.flock(f, fcntl.LOCK_EX); print("locked")'
    python3 -c 'import os; os.mkfifo("pipe"); os.chmod("pipe", 0o600); print(oct(os.stat("pipe").st_mode))'
    python3 -c 'import os; os.utime("Makefile", (1, 1)); os.rename("Makefile", "Makefile2"); os.symlink("Makefile2", "Makefile"); print(os.path.getmtime("Makefile"))'
    python3 -c 'import getpass, os; print(os.getuid(), os.path.expanduser("~") == os.environ["HOME"])'
    python3 -c 'import locale, sys; print(sys.getdefaultencoding(), locale.getlocale())'
    python3 -c 'import shutil; shutil.copytree("shop", "copy"); shutil.make_archive("all", "gztar", "copy")' && tar tzf all.tar.gz | sort; rm all.tar.gz
    python3 -c 'import resource; print(resource.getrlimit(resource.RLIMIT_CORE)[0] >= -1)'
    python3 -c 'import ctypes; print(ctypes.CDLL(None).getpid() > 0)'
    python3 -m json.tool <<< '{"b": 1, "a": [1, 2]}'
    python3 -m timeit -n 1 -r 1 pass | cut -c1-17
    python3 -m trace --count --missing -C cover shop/sums.py && ls cover
    python3 -m cProfile -o prof.out shop/sums.py && ls prof.out && rm prof.out
    python3 -m doctest shop/sums.py; echo $?
    python3 -m pydoc shop.sums | head -8
    python3 -m zipfile -c out.zip shop && python3 -m zipfile -l out.zip | wc -l
    python3 scripts/clean.py && python3 -m unittest -q tests.test_sums && python3 scripts/clean.py && git status --short --ignored
    cd shop && python3 -c 'import sums; print(sums.add(2, 2))'; pwd | sed 's|.*/||'
    python3 - <<'X'⏎import pathlib⏎p = pathlib.Path("made/by/python.txt"); p.parent.mkdir(parents=True); p.write_text("x")⏎X⏎find made
    git add -A && git commit -qm two && git status --short --ignored`),
  ...rowsOf(
    `
    python3 -m pytest
    python3 -m pytest -q tests/test_plain.py && git status --short --ignored
    python3 -m pytest tests/bad_plain.py
    python3 -m pytest -x -k two --durations=1 | tail -2
    python3 -m pytest --lf --co -q
    python3 -m pytest -p no:cacheprovider tests/test_sockets.py`,
    { mask: /in \d+\.\d+s/g },
  ),
  { command: 'python3 -m pip --version && python3 -m pip list | head -3' },
  {
    command:
      'python3 -m venv --without-pip venv && venv/bin/python -c "import sys; print(sys.prefix != sys.base_prefix)"',
  },
  { command: 'python3 scripts/reach.py', differs: 'no network', reaches: true },
  { command: 'python3 scripts/connect.py', differs: 'no network', reaches: true },
  { command: 'python3 scripts/get.py', differs: 'no network', reaches: true },
  { command: 'python3 -m pip download --no-deps six', asks: true },
  { command: 'python3 -m pip install --target lib six', asks: true },
  { command: 'python3 scripts/hook.py; cat .git/hooks/pre-commit', differs: '.git read-only' },
  { command: 'python3 scripts/back.py; git status --short', differs: '.git read-only' },
  { command: `python3 -c 'open("../beside/file", "w").write("x"); print("written")'`, differs: 'hidden home' },
  { command: `python3 -c 'import os; print(sorted(os.listdir(os.path.expanduser("~"))))'`, differs: 'hidden home' },
  { command: `python3 -c 'import os; print(os.getpid() > 50)'`, differs: 'own processes' },
  { command: 'rm -rf .git/hooks', asks: true },
] as const

export const pythonProject: Project = {
  name: 'python',
  needs: ['python3', 'git', 'make'],
  script,
  rows: rows.map((row) => ({ ...row, command: row.command.replaceAll('⏎', '\n') })),
}
