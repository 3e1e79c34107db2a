package reference

import "github.com/tongs-ai/tongs"

// codes tell what each code means, and what to do.
var codes = map[tongs.Code][2]string{
	tongs.CodeInvalidArgs:        {"The arguments do not fit the tool's schema, or contradict each other.", "Correct the fields that the message names, and call again."},
	tongs.CodeUnknownTool:        {"There is no tool of this name for this caller.", "Use one of the names that the message suggests; `tongs tools` lists all."},
	tongs.CodeInvalidPath:        {"The path is malformed, leads outside the workspace and its zones, or names the wrong kind of file.", "Give a path inside the workspace."},
	tongs.CodeFileNotFound:       {"The file or directory does not exist.", "Check the path with `list_directory` or `glob`; the message suggests similar names."},
	tongs.CodeAlreadyExists:      {"Something is already there.", "Choose another name, or set `overwrite` where the tool has it."},
	tongs.CodePermissionDenied:   {"The system, a zone or a missing permission does not allow it.", "Use another place, or have a person change the permissions."},
	tongs.CodeNotEmpty:           {"The directory has entries.", "Set `recursive` to delete all of it."},
	tongs.CodeBinaryFile:         {"The file is not text.", "Read it with `encoding: base64`, or use a program that knows its format."},
	tongs.CodeTooLarge:           {"The file, the input or the answer is larger than the limit.", "Read a part of it, or raise the limit in the configuration."},
	tongs.CodeStaleFile:          {"A file changed since this session read it, or since a person approved the change.", "Read the file again and repeat the call."},
	tongs.CodeNoMatch:            {"The text to replace, or what was looked for, is not there.", "Look at the closest place that the message shows, and correct the text."},
	tongs.CodeAmbiguousMatch:     {"The text to replace is there more than once.", "Give more of the text around it, or set `replaceAll`."},
	tongs.CodeTimeout:            {"The time was over; a program was killed, and its output until then is kept.", "Give a longer timeout, run it in the background, or do less at once."},
	tongs.CodeCancelled:          {"The caller cancelled the call.", "Nothing, or call again."},
	tongs.CodeExecutionError:     {"A program could not be run or was ended by a limit, or a tool failed on its own.", "Read the message and the output, and correct the cause."},
	tongs.CodeDenied:             {"A person said no.", "Do not repeat the call. Follow the reason if there is one, or ask the person."},
	tongs.CodeBlocked:            {"A rule forbids it. No person can allow it for one call.", "Do it in another way, or have a person change the rule that the message names."},
	tongs.CodeApprovalRequired:   {"A person must decide, and nobody answered yet. The details have the ID of the question.", "Make the identical call again after the question was answered with `tongs approvals`."},
	tongs.CodeNetworkError:       {"The host cannot be reached, or the exchange broke off.", "Check the address, and try again later."},
	tongs.CodeRateLimited:        {"Too many requests, here or at the host.", "Wait for the time that the message names."},
	tongs.CodeConfigError:        {"The configuration, a definition or a directory of Tongs is wrong.", "A person mends what the message names; `tongs doctor` checks the rest."},
	tongs.CodeSandboxUnavailable: {"The sandbox cannot do what the call needs on this machine.", "`tongs doctor` tells what is missing and how to get it."},
	tongs.CodeLLMAssistRequired:  {"A worker needs a model, and none is configured. The content has its instructions.", "The calling agent does the task itself, or a person configures a model."},
	tongs.CodeInternal:           {"A fault of Tongs or of a tool.", "Report it with the ID of the call; `tongs log show ID` has the details."},
}
