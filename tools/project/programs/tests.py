# Runs the tests of a project and writes one JSON object a line to standard output for each test that ended. What tests print
# goes to standard error. Arguments: how (auto, pytest or unittest), a filter or "", and files or directories.
import json
import os
import sys
import traceback

sys.modules["__main__"].__dict__.pop("__file__", None)  # there is no file that another process could load
sys.path.insert(0, os.getcwd())
how, pattern, paths = sys.argv[1], sys.argv[2], sys.argv[3:]
stream = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
os.dup2(2, 1)


def emit(**event):
    stream.write(json.dumps(event) + "\n")
    stream.flush()


class Plugin:
    def pytest_collection_finish(self, session):
        emit(event="plan", total=len(session.items))

    def pytest_collectreport(self, report):
        if report.failed:
            emit(event="fail", name=report.nodeid or "collection", **self.place(report))

    def pytest_runtest_logreport(self, report):
        if report.skipped:
            emit(event="skip", name=report.nodeid)
        elif report.failed:
            emit(event="fail", name=report.nodeid, **self.place(report))
        elif report.when == "call":
            emit(event="pass", name=report.nodeid)

    def place(self, report):
        file, line = report.location[0], (report.location[1] or 0) + 1 if hasattr(report, "location") else 0
        text = report.longreprtext
        crash = getattr(report.longrepr, "reprcrash", None)
        if crash is not None:
            file, line, text = crash.path, crash.lineno, crash.message + "\n\n" + text
        return {"file": file, "line": line, "message": text}


def run_pytest(pytest):
    args = ["-q", "-p", "no:cacheprovider"]
    if pattern:
        args.append("-k" + pattern)
    return int(pytest.main(args + paths, plugins=[Plugin()]))


def run_unittest():
    import unittest

    own = os.path.dirname(unittest.__file__)

    class Result(unittest.TestResult):
        def addSuccess(self, test):
            super().addSuccess(test)
            emit(event="pass", name=test.id())

        def addSkip(self, test, reason):
            super().addSkip(test, reason)
            emit(event="skip", name=test.id())

        def addExpectedFailure(self, test, err):
            super().addExpectedFailure(test, err)
            emit(event="pass", name=test.id())

        def addUnexpectedSuccess(self, test):
            super().addUnexpectedSuccess(test)
            emit(event="fail", name=test.id(), message="it passed, and is marked as an expected failure")

        def addFailure(self, test, err):
            super().addFailure(test, err)
            self.told(test, err)

        def addError(self, test, err):
            super().addError(test, err)
            self.told(test, err)

        def addSubTest(self, test, subtest, err):
            super().addSubTest(test, subtest, err)
            if err is not None:
                self.told(subtest, err)

        def told(self, test, err):
            frames = [f for f in traceback.extract_tb(err[2]) if not f.filename.startswith(own)]
            file, line = (frames[-1].filename, frames[-1].lineno) if frames else ("", 0)
            text = "".join(traceback.format_exception_only(err[0], err[1])) + "\n" + "".join(traceback.format_list(frames))
            emit(event="fail", name=test.id(), file=file, line=line, message=text.strip())

    loader = unittest.TestLoader()
    if pattern:
        loader.testNamePatterns = [pattern if "*" in pattern else "*" + pattern + "*"]
    suite = unittest.TestSuite()
    for path in paths or ["."]:
        start, glob = (os.path.dirname(path) or ".", os.path.basename(path)) if os.path.isfile(path) else (path, "test*.py")
        top = "." if os.path.exists(os.path.join(start, "__init__.py")) else start
        suite.addTests(loader.discover(start, pattern=glob, top_level_dir=top))
    emit(event="plan", total=suite.countTestCases())
    result = Result()
    suite.run(result)
    if not result.wasSuccessful():
        return 1
    return 0 if result.testsRun or result.skipped else 5


try:
    if how == "unittest":
        pytest = None
    else:
        import pytest
except ImportError:
    pytest = None
    if how == "pytest":
        emit(event="missing", name="pytest")
        sys.exit(4)
if pytest is None:
    emit(event="runner", name="unittest")
    code = run_unittest()
else:
    emit(event="runner", name="pytest")
    code = run_pytest(pytest)
stream.flush()
sys.exit(code)
