package sandbox

// sysno is a system call with its number on each architecture; -1 where it does not exist.
type sysno struct {
	name         string
	amd64, arm64 int
}

// lastSyscall is the newest system call that was looked at when these tables were made. Newer ones do not exist as far
// as a sandboxed program can tell.
const lastSyscall = 466

// denied are refused with EPERM, whatever their arguments.
var denied = []sysno{
	// other processes, and the kernel's memory
	{"ptrace", 101, 117},
	{"process_vm_readv", 310, 270},
	{"process_vm_writev", 311, 271},
	{"process_madvise", 440, 440},
	{"process_mrelease", 448, 448},
	{"kcmp", 312, 272},
	{"pidfd_getfd", 438, 438},
	{"perf_event_open", 298, 241},
	{"bpf", 321, 280},
	{"userfaultfd", 323, 282},
	// a second way to do everything, past this filter
	{"io_uring_setup", 425, 425},
	{"io_uring_enter", 426, 426},
	{"io_uring_register", 427, 427},
	// the file tree
	{"mount", 165, 40},
	{"umount2", 166, 39},
	{"pivot_root", 155, 41},
	{"chroot", 161, 51},
	{"open_tree", 428, 428},
	{"move_mount", 429, 429},
	{"fsopen", 430, 430},
	{"fsconfig", 431, 431},
	{"fsmount", 432, 432},
	{"fspick", 433, 433},
	{"mount_setattr", 442, 442},
	{"statmount", 457, 457},
	{"listmount", 458, 458},
	{"open_by_handle_at", 304, 265},
	{"name_to_handle_at", 303, 264},
	{"fanotify_init", 300, 262},
	{"fanotify_mark", 301, 263},
	{"lookup_dcookie", 212, 18},
	{"quotactl", 179, 60},
	{"quotactl_fd", 443, 443},
	// namespaces
	{"unshare", 272, 97},
	{"setns", 308, 268},
	// keys outlive processes and belong to the user, not to the sandbox
	{"keyctl", 250, 219},
	{"add_key", 248, 217},
	{"request_key", 249, 218},
	// the machine
	{"init_module", 175, 105},
	{"finit_module", 313, 273},
	{"delete_module", 176, 106},
	{"create_module", 174, -1},
	{"get_kernel_syms", 177, -1},
	{"query_module", 178, -1},
	{"kexec_load", 246, 104},
	{"kexec_file_load", 320, 294},
	{"reboot", 169, 142},
	{"swapon", 167, 224},
	{"swapoff", 168, 225},
	{"acct", 163, 89},
	{"syslog", 103, 116},
	{"vhangup", 153, 58},
	{"settimeofday", 164, 170},
	{"clock_settime", 227, 112},
	{"adjtimex", 159, 171},
	{"clock_adjtime", 305, 266},
	{"sethostname", 170, 161},
	{"setdomainname", 171, 162},
	{"iopl", 172, -1},
	{"ioperm", 173, -1},
	{"lsm_get_self_attr", 459, 459},
	{"lsm_set_self_attr", 460, 460},
	{"lsm_list_modules", 461, 461},
	// rarely used, often attacked
	{"modify_ldt", 154, -1},
	{"vmsplice", 278, 75},
	{"memfd_secret", 447, 447},
	{"remap_file_pages", 216, 234},
	{"move_pages", 279, 239},
	{"migrate_pages", 256, 238},
	{"mbind", 237, 235},
	{"set_mempolicy", 238, 237},
	{"set_mempolicy_home_node", 450, 450},
	{"nfsservctl", 180, 42},
	{"sysfs", 139, -1},
	{"_sysctl", 156, -1},
	{"ustat", 136, -1},
	{"uselib", 134, -1},
}

// hiddenMemory is memory that only a control group can count. Without one it does not exist.
var hiddenMemory = []sysno{
	{"memfd_create", 319, 279},
	{"shmget", 29, 194},
	{"msgget", 68, 186},
}

// modeArguments are the calls that can make a file set-user-ID, and which argument has its mode.
var modeArguments = []struct {
	sysno
	arg int
}{
	{sysno{"chmod", 90, -1}, 1},
	{sysno{"fchmod", 91, 52}, 1},
	{sysno{"fchmodat", 268, 53}, 2},
	{sysno{"fchmodat2", 452, 452}, 2},
	{sysno{"creat", 85, -1}, 1},
	{sysno{"mknod", 133, -1}, 1},
	{sysno{"mknodat", 259, 33}, 2},
}

// The calls whose arguments are looked at.
var (
	sysOpen         = sysno{"open", 2, -1}
	sysOpenat       = sysno{"openat", 257, 56}
	sysOpenat2      = sysno{"openat2", 437, 437}
	sysClone        = sysno{"clone", 56, 220}
	sysClone3       = sysno{"clone3", 435, 435}
	sysIoctl        = sysno{"ioctl", 16, 29}
	sysSocket       = sysno{"socket", 41, 198}
	sysSocketpair   = sysno{"socketpair", 53, 199}
	sysPrlimit      = sysno{"prlimit64", 302, 261}
	sysSetrlimit    = sysno{"setrlimit", 160, 164}
	sysPersonality  = sysno{"personality", 135, 92}
	sysSetaffinity  = sysno{"sched_setaffinity", 203, 122}
	sysSetpriority  = sysno{"setpriority", 141, 140}
	sysIoprioSet    = sysno{"ioprio_set", 251, 30}
	schedulerOthers = []sysno{
		{"sched_setscheduler", 144, 119},
		{"sched_setparam", 142, 118},
		{"sched_setattr", 314, 274},
	}
)

// shared are refused without namespaces: they reach what all processes of the user share, past Landlock.
var shared = []sysno{
	{"shmget", 29, 194},
	{"shmat", 30, 196},
	{"shmctl", 31, 195},
	{"semget", 64, 190},
	{"semop", 65, 193},
	{"semctl", 66, 191},
	{"semtimedop", 220, 192},
	{"msgget", 68, 186},
	{"msgsnd", 69, 189},
	{"msgrcv", 70, 188},
	{"msgctl", 71, 187},
	{"mq_open", 240, 180},
	{"mq_unlink", 241, 181},
	{"chown", 92, -1},
	{"lchown", 94, -1},
	{"fchownat", 260, 54},
	{"setxattr", 188, 5},
	{"lsetxattr", 189, 6},
	{"removexattr", 197, 14},
	{"lremovexattr", 198, 15},
	{"setxattrat", 463, 463},
	{"removexattrat", 466, 466},
}

// forks and signals are what the supervisor of tier B decides.
var (
	forks   = []sysno{{"clone", 56, 220}, {"fork", 57, -1}, {"vfork", 58, -1}}
	signals = []sysno{
		{"kill", 62, 129},
		{"tkill", 200, 130},
		{"tgkill", 234, 131},
		{"rt_sigqueueinfo", 129, 138},
		{"rt_tgsigqueueinfo", 297, 240},
		{"pidfd_open", 434, 434},
	}
)
