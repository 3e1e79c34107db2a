// Package sandbox runs programs that nobody trusts: it decides what they see, what they change, whom they talk to, what
// they use up, and that nothing of them is left afterwards.
//
// A [Policy] says what a program may do; [Default] makes the usual one. A [Runner] runs programs under a policy, and
// each [Result] carries a [Report] of what was really enforced. What the machine cannot enforce, and the policy
// requires, is a refusal that names the fix: SANDBOX_UNAVAILABLE.
//
// There are two tiers on Linux. Tier A gives the program namespaces and a file tree of its own, and on top of that no
// capabilities, Landlock, a system call filter, resource limits and control groups. Tier B, for machines that allow no
// namespaces, has the filter, Landlock and a supervisor; it cannot hide or protect what is inside a writable tree, and is
// never [Report.Full]. On macOS a seatbelt profile does what it can; elsewhere there is no sandbox.
//
// A program that uses this package calls [Main] first thing in main, unless it embeds the launcher (build tag
// tongslauncher):
//
//	func main() {
//		sandbox.Main()
//		...
//	}
//
// The sandbox starts its helper processes from the program's own binary, and that line is what makes them behave as
// such. Test binaries have it in TestMain.
package sandbox
