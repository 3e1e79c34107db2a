package gitdir

import (
	"strings"
	"sync"
)

// Class is what git does with the value of a variable.
type Class uint8

// The classes. A variable that is not in the table runs something.
const (
	// Runs: the value is a program, a command line, or a part of one.
	Runs Class = iota
	// Hooks: the value is a directory from which git runs programs by their name.
	Hooks
	// Template: the value is a directory that git copies into new repositories, with hooks and configuration.
	Template
	// Obeys: the value is a file or directory that decides what git runs or trusts.
	Obeys
	// Include: the value is a file with more configuration.
	Include
	// Place: the value is a place to fetch from or push to, which may name a program.
	Place
	// Plain: the value neither runs nor leads to anything that does.
	Plain
)

// classes is the table of git's variables: for each class the names, by section, in lower case. A * stands for any subsection;
// a name that is * stands for all variables of the section.
var classes = map[Class]string{
	Hooks:    `core.hookspath`,
	Template: `init.templatedir`,
	Include:  `include.path includeif.*.path`,
	Obeys: `core.attributesfile gpg.ssh.allowedsignersfile gpg.ssh.revocationfile http.sslcainfo http.sslcapath http.proxysslcainfo
		instaweb.modulepath sendemail.smtpsslcertpath`,
	Place: `remote.*.url remote.*.pushurl remote.pushdefault branch.*.remote branch.*.pushremote submodule.*.url bundle.*.uri
		fetch.bundleuri clone.defaultremotename checkout.defaultremote url.*.insteadof url.*.pushinsteadof`,
	Runs: `alias.* pager.* branch.*.mergeoptions browser.*.cmd browser.*.path core.alternaterefscommand core.askpass core.editor
		core.fsmonitor core.gitproxy core.pager core.sshcommand credential.helper diff.external diff.*.command diff.*.textconv
		difftool.*.cmd difftool.*.path filter.*.clean filter.*.smudge filter.*.process gc.recentobjectshook gpg.program
		gpg.*.program gpg.ssh.defaultkeycommand guitool.*.cmd help.browser hook.*.command imap.tunnel instaweb.browser instaweb.httpd
		interactive.difffilter man.*.cmd man.*.path man.viewer merge.*.driver mergetool.*.cmd mergetool.*.path pull.octopus
		pull.twohead remote.*.receivepack remote.*.uploadpack remote.*.vcs sendemail.cccmd sendemail.headercmd sendemail.sendmailcmd
		sendemail.smtpserver sendemail.smtpserveroption sendemail.tocmd sequence.editor submodule.*.update tar.*.command
		trailer.*.cmd trailer.*.command uploadpack.packobjectshook web.browser`,
	Plain: plainText,
}

const plainText = `
	advice.* color.* column.* extensions.* feature.* fsck.* fetch.fsck.* receive.fsck.* pretty.* protocol.* remotes.* reftable.*
	add.ignoreerrors add.interactive.usebuiltin am.keepcr am.threeway apply.ignorewhitespace apply.whitespace attr.tree author.email
	author.name blame.blankboundary blame.coloring blame.date blame.ignorerevsfile blame.markignoredlines
	blame.markunblamablelines blame.showemail blame.showroot branch.*.description branch.*.merge branch.*.rebase
	branch.autosetupmerge branch.autosetuprebase branch.sort bundle.mode bundle.version bundle.heuristic bundle.*.creationtoken
	checkout.guess checkout.thresholdforparallelism checkout.workers clean.requireforce clone.filtersubmodules clone.rejectshallow
	commit.cleanup commit.gpgsign commit.status commit.template commit.verbose commitgraph.changedpathsversion
	commitgraph.generationversion commitgraph.maxnewfilters commitgraph.readchangedpaths committer.email committer.name
	completion.commands
	core.abbrev core.alternaterefsprefixes core.autocrlf core.bare core.bigfilethreshold core.checkroundtripencoding core.checkstat
	core.commentchar core.commentstring core.commitgraph core.compression core.createobject core.deltabasecachelimit core.eol
	core.excludesfile core.filemode core.filesreflocktimeout core.fsmonitorhookversion core.fsync core.fsyncmethod
	core.fsyncobjectfiles core.hidedotfiles core.ignorecase core.ignorestat core.logallrefupdates core.longpaths
	core.loosecompression core.maxtreedepth core.multipackindex core.notesref core.packedgitlimit core.packedgitwindowsize
	core.packedrefstimeout core.precomposeunicode core.prefersymlinkrefs core.preloadindex core.protecthfs core.protectntfs
	core.quotepath core.repositoryformatversion core.restrictinheritedhandles core.safecrlf core.sharedrepository
	core.sparsecheckout core.sparsecheckoutcone core.splitindex core.symlinks core.trustctime core.unsetenvvars
	core.untrackedcache core.usereplacerefs core.warnambiguousrefs core.whitespace core.worktree
	credential.interactive credential.protectprotocol credential.sanitizeprompt credential.usehttppath credential.username
	credentialcache.ignoresighup credentialstore.locktimeoutms
	diff.*.algorithm diff.*.binary diff.*.cachetextconv diff.*.trustexitcode diff.*.wordregex diff.*.xfuncname diff.algorithm
	diff.autorefreshindex diff.colormoved diff.colormovedws diff.context diff.dirstat diff.dstprefix diff.guitool
	diff.ignoresubmodules diff.indentheuristic diff.interhunkcontext diff.mnemonicprefix diff.noprefix diff.orderfile diff.relative
	diff.renamelimit diff.renames diff.srcprefix diff.statgraphwidth diff.statnamewidth diff.submodule diff.suppressblankempty
	diff.tool diff.trustexitcode diff.wordregex diff.wserrorhighlight difftool.guidefault difftool.prompt difftool.trustexitcode
	fastimport.unpacklimit fetch.all fetch.bundlecreationtoken fetch.fsckobjects fetch.negotiationalgorithm fetch.output
	fetch.parallel fetch.prune fetch.prunetags fetch.recursesubmodules fetch.showforcedupdates fetch.unpacklimit
	fetch.writecommitgraph filter.*.required
	format.attach format.cc format.coverfromdescription format.coverletter format.encodeemailheaders format.filenamemaxlength
	format.forceinbodyfrom format.from format.headers format.mboxrd format.noprefix format.notes format.numbered
	format.outputdirectory format.pretty format.signature format.signaturefile format.signoff format.subjectprefix format.suffix
	format.thread format.to format.useautobase fsmonitor.allowremote fsmonitor.socketdir
	gc.*.reflogexpire gc.*.reflogexpireunreachable gc.aggressivedepth gc.aggressivewindow gc.auto gc.autodetach gc.autopacklimit
	gc.bigpackthreshold gc.cruftpacks gc.logexpiry gc.maxcruftsize gc.packrefs gc.pruneexpire gc.reflogexpire
	gc.reflogexpireunreachable gc.repackfilter gc.repackfilterto gc.rerereresolved gc.rerereunresolved gc.worktreepruneexpire
	gc.writecommitgraph gitcvs.allbinary gitcvs.commitmsgannotation gitcvs.dbdriver gitcvs.dbname gitcvs.dbpass
	gitcvs.dbtablenameprefix gitcvs.dbuser gitcvs.enabled gitcvs.logfile gitcvs.usecrlfattr gitweb.avatar gitweb.blame
	gitweb.category gitweb.description gitweb.grep gitweb.highlight gitweb.owner gitweb.patches gitweb.pickaxe
	gitweb.remote_heads gitweb.showsizes gitweb.snapshot gitweb.url gpg.format gpg.mintrustlevel grep.column grep.extendedregexp
	grep.fallbacktonoindex grep.fullname grep.linenumber grep.patterntype grep.threads
	gui.blamehistoryctx gui.commitmsgwidth gui.copyblamethreshold gui.diffcontext gui.displayuntracked gui.encoding
	gui.fastcopyblame gui.matchtrackingbranch gui.newbranchtemplate gui.pruneduringfetch gui.spellingdictionary gui.trustmtime
	guitool.*.argprompt guitool.*.confirm guitool.*.needsfile guitool.*.noconsole guitool.*.norescan guitool.*.prompt
	guitool.*.revprompt guitool.*.revunmerged guitool.*.title help.autocorrect help.format help.htmlpath
	hook.*.enabled hook.*.event
	http.cookiefile http.curloptresolve http.delegation http.emptyauth http.extraheader http.followredirects
	http.keepalivecount http.keepaliveidle http.keepaliveinterval http.lowspeedlimit http.lowspeedtime http.maxrequests
	http.minsessions http.noepsv http.pinnedpubkey http.postbuffer http.proactiveauth http.proxy http.proxyauthmethod
	http.proxysslcert http.proxysslcertpasswordprotected http.proxysslkey http.savecookies http.schannelcheckrevoke
	http.schannelusesslcainfo http.sslbackend http.sslcert http.sslcertpasswordprotected http.sslcerttype http.sslcipherlist
	http.sslkey http.sslkeytype http.ssltry http.sslverify http.sslversion http.useragent http.version
	i18n.commitencoding i18n.logoutputencoding imap.authmethod imap.folder imap.host imap.pass imap.port imap.preformattedhtml
	imap.sslverify imap.user index.recordendofindexentries index.recordoffsettable index.skiphash index.sparse index.threads
	index.version init.defaultbranch init.defaultobjectformat init.defaultrefformat instaweb.local instaweb.port
	interactive.singlekey log.abbrevcommit log.date log.decorate log.diffmerges log.excludedecoration log.follow log.graphcolors
	log.initialdecorationset log.mailmap log.showroot log.showsignature lsrefs.unborn mailinfo.scissors mailmap.blob mailmap.file
	maintenance.*.auto maintenance.*.enabled maintenance.*.schedule maintenance.auto maintenance.autodetach maintenance.repo
	maintenance.strategy merge.*.name merge.*.recursive merge.autostash merge.branchdesc merge.conflictstyle
	merge.defaulttoupstream merge.directoryrenames merge.ff merge.guitool merge.log merge.renamelimit merge.renames
	merge.renormalize merge.stat merge.suppressdest merge.tool merge.verbosity merge.verifysignatures mergetool.*.hasoutput
	mergetool.*.hideresolved mergetool.*.layout mergetool.*.trustexitcode mergetool.*.useautomerge mergetool.guidefault
	mergetool.hideresolved mergetool.keepbackup mergetool.keeptemporaries mergetool.prompt mergetool.writetotemp
	notes.*.mergestrategy notes.displayref notes.mergestrategy notes.rewrite.* notes.rewritemode notes.rewriteref
	pack.allowpackreuse pack.compression pack.deltacachelimit pack.deltacachesize pack.depth pack.indexversion pack.island
	pack.islandcore pack.packsizelimit pack.preferbitmaptips pack.readreverseindex pack.threads pack.usebitmapboundarytraversal
	pack.usebitmaps pack.usepathwalk pack.usesparse pack.window pack.windowmemory pack.writebitmaphashcache
	pack.writebitmaplookuptable pack.writereverseindex promisor.acceptfromserver promisor.advertise promisor.quiet pull.autostash
	pull.ff pull.rebase push.autosetupremote push.default push.followtags push.gpgsign push.negotiate push.pushoption
	push.recursesubmodules push.usebitmaps push.useforceifincludes rebase.abbreviatecommands rebase.autosquash rebase.autostash
	rebase.backend rebase.forkpoint rebase.instructionformat rebase.maxlabellength rebase.missingcommitscheck
	rebase.rebasemerges rebase.reschedulefailedexec rebase.stat rebase.updaterefs
	receive.advertiseatomic receive.advertisepushoptions receive.autogc receive.certnonceseed receive.certnonceslop
	receive.denycurrentbranch receive.denydeletecurrent receive.denydeletes receive.denynonfastforwards receive.fsckobjects
	receive.hiderefs receive.keepalive receive.maxinputsize receive.procreceiverefs receive.shallowupdate receive.unpacklimit
	receive.updateserverinfo remote.*.fetch remote.*.followremotehead remote.*.mirror remote.*.partialclonefilter
	remote.*.promisor remote.*.proxy remote.*.proxyauthmethod remote.*.prune remote.*.prunetags remote.*.push
	remote.*.serveroption remote.*.skipdefaultupdate remote.*.skipfetchall remote.*.tagopt repack.cruftdepth repack.cruftthreads
	repack.cruftwindow repack.cruftwindowmemory repack.midxmustcontaincruft repack.packkeptobjects repack.updateserverinfo
	repack.usedeltabaseoffset repack.usedeltaislands repack.writebitmaps rerere.autoupdate rerere.enabled revert.reference
	safe.barerepository safe.directory
	sendemail.aliasesfile sendemail.aliasfiletype sendemail.annotate sendemail.bcc sendemail.cc sendemail.chainreplyto
	sendemail.confirm sendemail.envelopesender sendemail.forbidsendmailvariables sendemail.from sendemail.identity
	sendemail.mailmap sendemail.mailmap.blob sendemail.mailmap.file sendemail.multiedit sendemail.signedoffbycc
	sendemail.smtpauth sendemail.smtpbatchsize sendemail.smtpdomain sendemail.smtpencryption sendemail.smtppass
	sendemail.smtprelogindelay sendemail.smtpserverport sendemail.smtpuser sendemail.suppresscc sendemail.suppressfrom
	sendemail.thread sendemail.to sendemail.transferencoding sendemail.validate sendemail.xmailer
	showbranch.default sparse.expectfilesoutsideofpatterns splitindex.maxpercentchange splitindex.sharedindexexpire ssh.variant
	stash.showincludeuntracked stash.showpatch stash.showstat status.aheadbehind status.branch status.displaycommentprefix
	status.relativepaths status.renamelimit status.renames status.short status.showstash status.showuntrackedfiles
	status.submodulesummary submodule.*.active submodule.*.branch submodule.*.fetchrecursesubmodules submodule.*.ignore
	submodule.*.path submodule.*.shallow submodule.active submodule.alternateerrorstrategy submodule.alternatelocation
	submodule.fetchjobs submodule.propagatebranches submodule.recurse tag.forcesignannotated tag.gpgsign tag.sort tar.*.remote
	tar.umask trace2.configparams trace2.destinationdebug trace2.envvars trace2.eventbrief trace2.eventnesting trace2.eventtarget
	trace2.maxfiles trace2.normalbrief trace2.normaltarget trace2.perfbrief trace2.perftarget transfer.advertiseobjectinfo
	transfer.advertisesid transfer.bundleuri transfer.credentialsinurl transfer.fsckobjects transfer.hiderefs
	transfer.unpacklimit uploadarchive.allowunreachable uploadpack.allowanysha1inwant uploadpack.allowfilter
	uploadpack.allowreachablesha1inwant uploadpack.allowrefinwant uploadpack.allowtipsha1inwant uploadpack.blobpackfileuri
	uploadpack.hiderefs uploadpack.keepalive uploadpackfilter.* user.email user.name user.signingkey user.useconfigonly
	versionsort.suffix versionsort.prereleasesuffix worktree.guessremote worktree.userelativepaths`

// scoped are the sections whose variables may be set for one URL or identity: http.<url>.proxy is http.proxy.
var scoped = map[string]bool{"http": true, "credential": true, "sendemail": true}

var variables = sync.OnceValue(func() map[string]Class {
	m := map[string]Class{}
	for class, names := range classes {
		for name := range strings.FieldsSeq(names) {
			m[name] = class
		}
	}
	return m
})

// ClassOf returns what git does with the value of a setting, and whether the variable is in the table. One that is not runs
// something: a newer git, or a program of somebody else, may.
func ClassOf(s Setting) (class Class, known bool) {
	table := variables()
	var names []string
	if s.Sub != "" {
		sub := strings.ToLower(s.Sub)
		names = append(names, s.Section+"."+sub+"."+s.Name, s.Section+".*."+s.Name, s.Section+"."+sub+".*")
	}
	if s.Sub == "" || scoped[s.Section] {
		names = append(names, s.Section+"."+s.Name)
	}
	for _, name := range append(names, s.Section+".*") {
		if class, ok := table[name]; ok {
			return class, true
		}
	}
	return Runs, false
}
