package secrets

import "strings"

// usages say where programs take a secret on their command line, in the words of a usage line. X is the secret:
//
//	-pX         glued to the option, and only so (mysql -p NAME names a database)
//	-p X        glued, after "=", or the next argument
//	-k| X       the next argument, and only so (openssl -key is another option)
//	-u U:X      the part of that after the first ":"
//	-e pass:X   the part after a word that must be there
//	-[sf]u U:X  the same, where flags without a value may stand before it in one argument (-sfu)
//	login -p X  the same, where login is the program's subcommand
//	set N X     the argument after the word "set" and a telling name
//	word X      the argument after that word
//
// What is named tellingly (--password, --token) is found for every program and needs no line here.
var usages = [][2]string{
	{"mysql mysqldump mysqladmin mysqlimport mysqlshow mysqlcheck mysqlpump mysqlslap mysqlsh mariadb mariadb-dump mariadb-admin", "-pX"},
	{"mycli pgcli mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat influx cqlsh", "-p X"},
	{"mysqladmin", "password X"},
	{"sqlcmd bcp isql tsql ipmitool", "-P X"},
	{"sqlplus expdp impdp sqlldr", "U/X"},
	{"redis-cli valkey-cli", "-a X, --pass X, auth X"},
	{"clickhouse-client", "--pass X"},
	{"sshpass", "-p X"},
	{"docker podman buildah skopeo nerdctl oras helm crane", "login -p X, login --pass X, registry login -p X, --creds U:X, --src-creds U:X, --dest-creds U:X"},
	{"curl", "-[sSfLkvgGiIjlnNOqRZ0#]u U:X, -[sSfLkvgGiIjlnNOqRZ0#]U U:X, --user U:X, --proxy-user U:X, -E U:X, --cert U:X, --proxy-cert U:X, --pass X, --proxy-pass X, -b U=X, --oauth2-bearer X"},
	{"http https xh xhs", "-a U:X, --auth U:X, -A X"},
	{"lftp", "-u U,X"},
	{"ncftp ncftpget ncftpput ftp tnftp", "-p X"},
	{"smbclient rpcclient smbget smbcacls smbspool winexe net cifsiostat", "-U U%X, --user U%X"},
	{"ldapsearch ldapadd ldapmodify ldapdelete ldapmodrdn ldapcompare ldapwhoami ldapexop", "-[xZnvcM]w X"},
	{"ldappasswd", "-w X, -s X, -a X"},
	{"7z 7za 7zr 7zz 7z.exe unrar rar", "-pX, -hpX"},
	{"unzip zip zipcloak zipinfo", "-[oqnjulavpzCrmd]P X"},
	{"openssl", "-pass pass:X, -passin pass:X, -passout pass:X, -k| X, -K| X, passwd X, -srppass| X, -psk| X"},
	{"keytool jarsigner apksigner", "-storepass| X, -keypass| X, -srcstorepass| X, -deststorepass| X, -destkeypass| X, --ks-pass pass:X, --key-pass pass:X"},
	{"gpg gpg2", "--passphrase X"},
	{"ssh-keygen", "-N X, -P X"},
	{"useradd usermod", "-p X"},
	{"rabbitmqctl", "add_user N X, change_password N X, authenticate_user N X"},
	{"nmcli", "password X, 802-11-wireless-security.psk X, wifi-sec.psk X"},
	{"xfreerdp wlfreerdp", "/p:X"},
	{"rdesktop twine psexec smbmap crackmapexec netexec evil-winrm", "-p X"},
	{"snmpwalk snmpget snmpset snmpbulkwalk", "-A X, -X X, -c X"},
	{"az", "-p X, --account-key X, --sas-token X"},
	{"aws", "configure set N X"},
	{"npm pnpm yarn", "config set N X, set N X"},
	{"pip pip3 poetry", "config set N X"},
	{"gh", "secret set -b X, secret set --body X"},
	{"heroku", "config:set U=X"},
	{"vault", "login X"},
	{"fly flyctl", "secrets set U=X"},
	{"wrangler", "secret put N X"},
	{"kubectl oc k3s", "--from-literal U=X"},
	{"oc", "login -p X"},
	{"cf", "login -p X, auth N X"},
	{"svn svnadmin", "--password X"},
	{"psql pg_dump pg_restore createdb dropdb", "--pass X"},
	{"net.exe", "user N X"},
	{"ansible ansible-playbook ansible-vault", "--become-pass X, --conn-pass X"},
	{"mosquitto_pub mosquitto_sub", "-P X"},
	{"kinit", "--password X"},
	{"cargo", "login X"},
	{"rclone", "obscure X"},
	{"doctl", "auth init -t X"},
	{"etcdctl", "--user U:X"},
	{"ncat", "--proxy-auth U:X"},
	{"yt-dlp youtube-dl steghide", "-p X"},
	{"pdftk", "user_pw X, owner_pw X, input_pw X"},
}

// readers are programs that read a secret from their standard input, with the arguments that make them do so. What echo
// or printf sends them is one.
var readers = map[string]string{
	"sudo": "-S --stdin", "chpasswd": "", "passwd": "--stdin", "docker": "--password-stdin", "podman": "--password-stdin",
	"gh": "--with-token", "cryptsetup": "", "kinit": "", "smbpasswd": "-s", "su": "", "vault": "-", "glab": "--stdin",
	"helm": "--password-stdin", "oras": "--password-stdin", "skopeo": "--password-stdin", "gpg": "--passphrase-fd",
}

// usage is one of them, taken apart.
type usage struct {
	// words are the subcommand that the option belongs to, or stand before the secret where there is no option.
	words []string
	// named marks a telling name between the last word and the secret.
	named bool
	// option introduces the value; bundle are the flags that may stand before its letter.
	option, bundle string
	// glued values are not the next argument, apart ones only that.
	glued, apart bool
	// sep divides a value; the secret is behind it. prefix is what a value must start with.
	sep    byte
	prefix string
}

// programs are the usages by the name of the program.
var programs = func() map[string][]usage {
	table := map[string][]usage{}
	for _, line := range usages {
		for _, name := range strings.Fields(line[0]) {
			for _, form := range strings.Split(line[1], ", ") {
				table[name] = append(table[name], parseUsage(form))
			}
		}
	}
	return table
}()

func parseUsage(form string) (u usage) {
	words := strings.Fields(form)
	value := words[len(words)-1]
	words = words[:len(words)-1]
	if n := len(words); n > 0 && words[n-1][0] == '-' {
		u.option, words = words[n-1], words[:n-1]
	} else if value[0] == '-' || value[0] == '/' {
		u.option, value, u.glued = strings.TrimSuffix(value, "X"), "X", true
	}
	u.option, u.apart = strings.CutSuffix(u.option, "|")
	if rest, ok := strings.CutPrefix(u.option, "-["); ok {
		bundle, letter, _ := strings.Cut(rest, "]")
		u.bundle, u.option = bundle, "-"+letter
	}
	if n := len(words); n > 0 && words[n-1] == "N" {
		u.named, words = true, words[:n-1]
	}
	u.words = words
	switch at := strings.IndexByte(value, 'X'); {
	case at == 2 && value[0] == 'U':
		u.sep = value[1]
	default:
		u.prefix = value[:at]
	}
	return u
}

// starts are the first letters of the programs that are looked at.
var starts = func() (table [256]bool) {
	for name := range programs {
		table[name[0]] = true
	}
	for name := range readers {
		table[name[0]] = true
	}
	for _, name := range []string{"echo", "printf", "htpasswd", "mkpasswd", "wpa_passphrase"} {
		table[name[0]] = true
	}
	return table
}()
