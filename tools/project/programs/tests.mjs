// A reporter of Node's test runner: one JSON object a line for each test that ended. What tests print goes to standard error.
export default async function* (source) {
	const line = (event) => JSON.stringify(event) + "\n";
	for await (const { type, data } of source) {
		if (type === "test:stdout" || type === "test:stderr") process.stderr.write(data.message);
		if (type !== "test:pass" && type !== "test:fail") continue;
		const suite = data.details?.type === "suite";
		const error = data.details?.error;
		if (suite && (type === "test:pass" || error?.failureType === "subtestsFailed")) continue;
		if (error?.failureType === "subtestsFailed") continue;
		if (data.skip === "test name does not match pattern") continue; // how it tells of what the filter leaves out
		if (data.skip !== undefined || data.todo !== undefined) yield line({ event: "skip", name: data.name });
		else if (type === "test:pass") yield line({ event: "pass", name: data.name });
		else {
			const cause = error?.cause ?? error;
			const stack = String(cause?.stack ?? "");
			const frame = [...stack.matchAll(/(?:file:\/\/)?(\/[^\s():]+):(\d+):\d+/g)].find((m) => !m[1].includes("/node_modules/"));
			yield line({
				event: "fail", name: data.name, file: frame ? frame[1] : data.file, line: frame ? Number(frame[2]) : data.line,
				message: String(cause?.message ?? cause ?? "") + (stack ? "\n\n" + stack : ""),
			});
		}
	}
}
