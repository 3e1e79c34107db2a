package secrets

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// hits are commands with a secret, PW, that must not be kept. What else they say stays.
var hits = []string{
	"mysql -u root -pPW db", "mysql -uroot -p'PW' db", `mysql -u root -p"PW" db`, "mysqldump -pPW --all-databases > x.sql",
	"mariadb -pPW", "mysqladmin -u root password PW", "/usr/bin/mysql -h db -pPW", "sudo -u me mysql -pPW",
	"sshpass -p PW ssh me@host", "sshpass -pPW ssh -p 22 host", "sshpass -p 'PW' rsync -av a b:",
	"docker login -u me -p PW registry", "docker login --password PW", "docker login --password=PW x", "docker -H tcp://x login -p PW",
	"podman login -pPW q", "helm registry login -u me -p PW r", "skopeo copy --src-creds me:PW a b",
	"curl -u me:PW https://x", "curl -sSfu me:PW https://x", "curl --user me:PW x", "curl --user=me:PW x", "curl -ume:PW x", "curl --proxy-user me:PW x",
	"curl -U me:PW x", "curl -u :PW x", "curl https://me:PW@x/", "curl -H 'Authorization: Basic PW' x", `curl -H "Authorization: Bearer PW" x`,
	"curl -H 'PRIVATE-TOKEN: PW' x", "curl -b session=PW x", "curl --oauth2-bearer PW x", "curl --cert c.pem:PW x", "curl -d 'user=me&password=PW' x",
	"http -a me:PW x", "wget --user=me --password=PW x", "wget --http-password PW x", "wget --ftp-password=PW x",
	"PGPASSWORD=PW psql -h x", "env PGPASSWORD=PW psql", "SSHPASS=PW sshpass -e ssh x", "export DB_PASS=PW",
	"psql postgres://me:PW@host/db", "psql 'host=x user=me password=PW'", "redis-cli -a PW ping", "redis-cli -h x -p 6379 -a PW", "redis-cli --pass PW", "redis-cli -h x auth PW",
	"openssl enc -aes256 -pass pass:PW -in a", "openssl rsa -passin pass:PW -in k", "openssl pkcs12 -export -passout pass:PW", "openssl enc -aes256 -k PW",
	"openssl passwd -6 PW", "git clone https://me:PW@example.com/x.git", "gpg --batch --passphrase PW -d x", "gpg --passphrase=PW -d x",
	"ansible all -m ping --extra-vars 'ansible_password=PW'", "ansible all -e ansible_ssh_pass=PW", `ansible-playbook -e '{"db_password":"PW"}' x.yml`,
	"smbclient //h/s -U me%PW", "smbclient //h/s --user=me%PW", "ldapsearch -x -D cn=a -w PW", "ldapsearch -xw PW", "ldappasswd -s PW",
	"7z x -pPW a.7z", "7za a -pPW -mhe a.7z", "unzip -P PW a.zip", "unzip -oP PW a.zip", "zip -rP PW a.zip d", "rar a -hpPW a.rar",
	"htpasswd -b f me PW", "htpasswd -cb f me PW", "htpasswd -nb me PW", "mkpasswd PW", "wpa_passphrase net PW",
	"az login -u me -p PW", "az login --service-principal --password PW", "az storage blob list --account-key PW", "aws configure set aws_secret_access_key PW",
	"aws configure set --profile x aws_secret_access_key PW", "AWS_SECRET_ACCESS_KEY=PW aws s3 ls", "gcloud auth activate --client-secret PW", "heroku config:set A=PW -a app", "npm config set //r.example/:_authToken PW",
	"npm config set _auth PW", "npm set //r/:_password PW", "vault login PW", "vault login -method=userpass username=me password=PW", "vault kv put s/x password=PW",
	"kubectl --token PW get pods", "kubectl --token=PW get pods", "kubectl create secret generic s --from-literal=k=PW", "kubectl create secret generic s --from-literal k=PW",
	"kubectl config set-credentials me --password=PW", "gh secret set N --body PW", "gh secret set N -bPW", "oc login -u me -p PW", "cf auth me PW",
	"mongosh -u me -p PW", "mongodump --uri=mongodb://me:PW@h", "sqlcmd -S s -U sa -P PW", "sqlplus me/PW@db", "keytool -list -storepass PW", "ssh-keygen -t rsa -N PW -f k",
	"lftp -u me,PW ftp://x", "rabbitmqctl add_user me PW", "nmcli dev wifi connect N password PW", "xfreerdp /u:me /p:PW /v:h", "twine upload -u me -p PW d/*",
	"ipmitool -H h -U me -P PW power on", "snmpget -v3 -A PW h", "svn co --username me --password PW u",
	"echo PW | sudo -S id", "echo 'PW' | sudo -kS id", "echo -n PW | docker login -u me --password-stdin", "printf '%s' PW | gh auth login --with-token", "echo me:PW | chpasswd",
	"sudo -S id <<< PW", "docker login -u me --password-stdin <<<'PW'", "printf '%s\\n' PW | cryptsetup open d n",
	"cargo login PW", "rclone obscure PW", "doctl auth init -t PW", "etcdctl --user root:PW get x", "ncat --proxy-auth me:PW x",
	"yt-dlp -u me -p PW x", "steghide embed -p PW", "pdftk a output b user_pw PW", "su -c id <<< PW",
	"ssh host mysql -pPW", "docker exec db mysql -uroot -pPW", "timeout 5 curl -u me:PW x", "xargs curl -u me:PW", "ls && curl -u me:PW x; date", "$(curl -u me:PW x)", "`curl -u me:PW x`",
	"bash -c 'mysql -pPW'", `bash -c "mysql -pPW" && echo "done"`, `sh -c "mysql -p'PW' -e 'select 1'"`, "a=1 curl \\\n  -u me:PW \\\n  https://x",
	`subprocess.run(["curl", "-u", "me:PW", "https://x"])`, `os.system("mysql -pPW")`, `exec('sshpass', ['-p', 'PW'])`, `{"command":"mysql -pPW"}`, `{"a":"{\"command\":\"curl -u me:PW x\"}"}`,
	`["docker","login","-p","PW"]`, `don't run mysql -p'PW' db`, "for h in a b; do sshpass -p PW ssh $h; done", "if curl -fsu me:PW x; then :; fi", "curl.exe -u me:PW x", `curl -u "me:PW" x`, `curl -u 'me':'PW' x`, `curl -u me:P\W x`,
	`curl -d '{"a":"b \"c\""}' -u me:PW x`,
}

// disguised are hits that an attack on the first version found, or tried to.
var disguised = []string{
	`mysql "-pPW" db`, `mysql $'-pPW'`, `eval "curl -u me:PW x"`, "bash <<EOF\ncurl -u me:PW x\nEOF", "curl\t-u\tme:PW", "curl -u \\\n me:PW x", `curl -u me:"PW" x`,
	`curl -u me:PW`, `(curl -u me:PW x)`, `{ curl -u me:PW x; }`, `curl -u me:PW>out`, `curl x -u me:PW|cat`, `! curl -u me:PW x`, `nohup curl -u me:PW x &`, `ssh h "curl -u me:PW x"`, `ssh h 'mysql -pPW -e "select 1"'`,
	`python3 -c 'import os; os.system("mysql -pPW")'`, `node -e "require('child_process').execSync('curl -u me:PW x')"`, "x=`mysql -pPW`", `docker run --rm img sh -c "sshpass -p PW ssh h"`, `"C:\\bin\\curl.exe" -u me:PW x`,
	`{"cmd":["bash","-c","mysql -pPW"]}`, `{"command":"mysql","args":["-u","root","-pPW"]}`, `{"program":"/usr/bin/curl","args":["-u","me:PW"]}`, `{"script":"set -e\ncurl -u me:PW x\n"}`, `curl -u=me:PW x`, `sudo -S <<< "PW" id`, `printf "PW" | sudo -S id`, `echo "PW" | sudo --stdin id`,
	`echo PW | sudo -p '' -S id`, `curl -sLu 'me:PW' x`, `curl --proxy-user 'me:PW' x`, `curl -H "X-Auth-Token: PW"`, `mysql --password="PW"`, `mysqldump -uroot "-p"PW`,
}

// misses hold no secret, and stay as they are.
var misses = []string{
	"docker run -p 80:80 nginx", "docker run -p 8080:80 -e A=b app login", "docker ps", "ssh -p 22 me@host", "mkdir -p a/b", "cp -p a b", "tar -xpf a.tar", "tar -p -xf a", "mysql -p db", "mysql -u root -P 3306 db",
	"psql -p 5432 -U me", "redis-cli -p 6379 ping", "unzip -p a.zip f", "unzip -o a.zip", "7z x a.7z -oout", "curl -o out https://x", "curl -u me https://x", "curl -u $U:$P https://x", `curl -u "$CREDS" https://x`,
	"sort -u f", "id -u", "python -u x.py", "git log -p", "git push -u origin main", "nmap -p 1-100 h", "rsync -u a b", "scp -P 22 a b:", "ls -w 80", "grep -w word f", "http GET x", "echo hello | tee f", "echo a | grep -S b", "echo $PW | sudo -S id",
	"openssl rsa -in key.pem -passin file:p.txt", "openssl rsa -passin env:PW -in k", "openssl x509 -in c.pem -noout -key", "openssl genrsa -out k 2048", "gpg --passphrase-fd 0 -d x", "mysqldump --all-databases", "sshpass -e ssh h", "sshpass -f file ssh h",
	"htpasswd -c f me", "kubectl get pods -n secret-ns", "kubectl -n a logs -p pod", "npm config set registry https://r", "npm run build", "aws configure set region eu", "aws s3 cp a b", "az group list", "vault status", "vault login",
	"git config user.name me", "git config --get user.email", "cargo build", "cargo login", "etcdctl get x", "su - me", "su -c id", "git log --grep config", "yt-dlp x",
	"docker login -u me --password-stdin", "git config credential.helper store", "curl -b cookies.txt x", "curl -bc cookies.txt x", "the curl -u option takes a user", "use mysql or curl to see", "curl", "mysql", "make -p", "cat mysql.cnf -p x",
	"zip -r a.zip d", "net use", "smbclient -L //h -N", "lftp -u me ftp://x", "mongosh --port 27017", "ldapsearch -x -W -D cn=a", "sudo -n true", "az storage blob list -p", "helm install -f v.yaml a b", "curl -E cert.pem x",
	"sqlcmd -S s -E", "ssh-keygen -t rsa -f k", "ssh-keygen -t ed25519 -N '' -f k", "curl -u me: x", "mysql -p", "mysql -p$PW", "mysql -p${PW} db", `mysql -p"$PW" db`,
}

func TestCommands(t *testing.T) {
	const pw = "hUnter2-x9"
	for _, hit := range slices.Concat(hits, disguised) {
		in := strings.ReplaceAll(hit, "PW", pw)
		for name, kept := range map[string]string{
			"text": (&Redactor{}).Text(in),
			"JSON": string((&Redactor{}).Bounded(quote(in))),
			"raw":  string((&Redactor{}).Bounded([]byte(in))),
		} {
			if strings.Contains(kept, "nter2") || strings.Contains(kept, "x9") {
				t.Errorf("%s: %q became %q", name, in, kept)
			}
		}
		once := (&Redactor{}).Text(in)
		if again := (&Redactor{}).Text(once); again != once {
			t.Errorf("not stable: %q became %q", once, again)
		}
		if first := strings.Fields(in)[0]; slices.Contains(hits, hit) && !strings.Contains(first, "=") && !strings.Contains(first, "(") && !strings.ContainsAny(first, `{["`) && !strings.HasPrefix(once, first) {
			t.Errorf("too much is gone: %q became %q", in, once)
		}
	}
	if got := (&Redactor{}).Text("MYSQL_PWD=" + pw + " mysql"); strings.Contains(got, pw) {
		t.Error(got)
	}
	for _, miss := range misses {
		if got := (&Redactor{}).Text(miss); got != miss {
			t.Errorf("%q became %q", miss, got)
		}
	}
}

func TestCommandArgv(t *testing.T) {
	for in, want := range map[string]string{
		"mysql -uroot -phunter2 db":                    "mysql -uroot -p[redacted secret] db",
		"sudo mysql -phunter2":                         "sudo mysql -p[redacted secret]",
		"sshpass -p hunter2 ssh -p 22 h":               "sshpass -p [redacted secret] ssh -p 22 h",
		"docker login -p hunter2 r":                    "docker login -p [redacted secret] r",
		"docker run -p 80:80 nginx":                    "docker run -p 80:80 nginx",
		"curl -u me:hunter2 x":                         "curl -u me:[redacted secret] x",
		"curl -sume:hunter2 x":                         "curl -sume:[redacted secret] x",
		"htpasswd -b f me hunter2":                     "htpasswd -b f me [redacted secret]",
		"mkdir -p a":                                   "mkdir -p a",
		"kubectl create secret --from-literal=k=hunt2": "kubectl create secret --from-literal=k=[redacted secret]",
	} {
		if got := strings.Join((&Redactor{}).Argv(strings.Fields(in)), " "); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
		raw, err := json.Marshal(map[string]any{"argv": strings.Fields(in)})
		if err != nil {
			t.Fatal(err)
		}
		if got := string((&Redactor{}).Bounded(raw)); strings.Contains(got, "hunt") {
			t.Errorf("%s became %s", raw, got)
		}
	}
}
