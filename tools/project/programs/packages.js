// Lists the packages that are installed below a directory: one JSON object a line, with the scripts that run when a package is
// installed.
const fs = require("fs");
const path = require("path");
let left = 20000;
function look(dir, depth) {
	let names;
	try { names = fs.readdirSync(dir); } catch { return; }
	for (const name of names) {
		if (name === ".bin" || name === ".cache" || depth > 20) continue;
		if (name === ".pnpm") {
			for (const inner of fs.readdirSync(path.join(dir, name))) look(path.join(dir, name, inner, "node_modules"), depth + 1);
			continue;
		}
		const at = path.join(dir, name);
		if (name.startsWith("@")) { look(at, depth + 1); continue; }
		if (name.startsWith(".") || fs.lstatSync(at).isSymbolicLink() || left-- < 0) continue;
		let pkg;
		try { pkg = JSON.parse(fs.readFileSync(path.join(at, "package.json"), "utf8")); } catch { continue; }
		const scripts = {};
		for (const key of ["preinstall", "install", "postinstall"]) if (typeof pkg.scripts?.[key] === "string") scripts[key] = pkg.scripts[key];
		if (!scripts.install && !scripts.preinstall && fs.existsSync(path.join(at, "binding.gyp"))) scripts.install = "node-gyp rebuild";
		const scope = path.basename(dir);
		console.log(JSON.stringify({ name: scope.startsWith("@") ? scope + "/" + name : name, version: String(pkg.version), scripts }));
		look(path.join(at, "node_modules"), depth + 1);
	}
}
look("node_modules", 0);
