import type { GitSetting } from '../git/config-file.ts'
import { memoizeByObject } from '../shell/memoize.ts'

/**
 * Whether a setting in a repository is harmless for read-only commands: it runs nothing and leads nowhere else. The list has settings that git and
 * everyday tools write. Settings that name programs are on it only if the environment overrides them or reading does not start them.
 */
export const isHarmlessInRepository: (setting: GitSetting) => boolean = memoizeByObject(isHarmlessByName)

function isHarmlessByName({ section, key, value }: GitSetting): boolean {
  const [name, part] = splitAtDot(section)
  // Programs that read settings line by line, such as git-lfs, would find further settings in such a value.
  if (/\p{Cc}/u.test(section) || (value !== undefined && hasHiddenLine(name, key, value))) return false
  if (isToolSection(name)) return true
  if (part !== undefined) return harmlessParts[name]?.({ part, key, value }) === true
  if (section === 'core' && key === 'bare') return value?.toLowerCase() === 'false'
  if (section === 'extensions' && /^(?:objectformat|compatobjectformat)$/.test(key))
    return /^sha(?:1|256)$/.test(value ?? '')
  if (section === 'extensions' && key === 'refstorage') return /^(?:files|reftable)$/.test(value ?? '')
  // Some converters of the C library write beyond their buffers.
  if (section === 'i18n') return key.endsWith('encoding') && usualEncoding.test(value ?? '')
  return harmlessKeys[section]?.test(key) === true
}

function splitAtDot(section: string): readonly [name: string, part: string | undefined] {
  const at = section.indexOf('.')
  return at < 0 ? [section, undefined] : [section.slice(0, at), section.slice(at + 1)]
}

/** Only the description of a branch may have several lines. */
function hasHiddenLine(name: string, key: string, value: string): boolean {
  if (name === 'branch' && key === 'description') return /[^\P{Cc}\n\t]|\n[^\n]*=/u.test(value)
  return /\p{Cc}/u.test(value)
}

const usualEncoding =
  /^(?:utf-?8|us-ascii|ascii|iso-?8859-\d{1,2}|latin-?\d|cp-?\d+|windows-\d+|koi8-[ru]|gbk|gb2312|gb18030|big5|euc-?(?:jp|kr|cn)|shift[_-]?jis|sjis)$/i

/** git ignores these sections. */
function isToolSection(name: string): boolean {
  return /^(?:gui|gitk|github|hub|vsts|gitflow|svn-remote|versioncontrol)$/.test(name)
}

const harmlessKeys: { readonly [section: string]: RegExp | undefined } = {
  core: /^(?:repositoryformatversion|filemode|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|quotepath|abbrev|compression|loosecompression|preloadindex|untrackedcache|commitgraph|multipackindex|bigfilethreshold|trustctime|checkstat|hidedotfiles|longpaths|protecthfs|protectntfs|whitespace|sparsecheckout|sparsecheckoutcone|fscache|sharedrepository|packedgitlimit|packedgitwindowsize|deltabasecachelimit|fsyncobjectfiles|fsync|commentchar|editor|pager|sshcommand)$/,
  extensions: /^(?:worktreeconfig|relativeworktrees|preciousobjects|noop)$/,
  feature: /^(?:manyfiles|experimental)$/,
  user: /^(?:name|email|signingkey|useconfigonly)$/,
  author: /^(?:name|email)$/,
  committer: /^(?:name|email)$/,
  branch: /^(?:autosetupmerge|autosetuprebase|sort)$/,
  remote: /^pushdefault$/,
  push: /^(?:default|autosetupremote|followtags|gpgsign|recursesubmodules|useforceifincludes)$/,
  pull: /^(?:ff|rebase|octopus|twohead)$/,
  fetch:
    /^(?:prune|prunetags|recursesubmodules|fsckobjects|parallel|showforcedupdates|writecommitgraph|unpacklimit|negotiationalgorithm|output)$/,
  transfer: /^(?:fsckobjects|unpacklimit)$/,
  receive:
    /^(?:denycurrentbranch|denynonfastforwards|denydeletes|fsckobjects|autogc|unpacklimit|advertisepushoptions|shallowupdate)$/,
  submodule: /^(?:active|fetchjobs)$/,
  diff: /^(?:algorithm|renames|renamelimit|mnemonicprefix|noprefix|colormoved|colormovedws|context|interhunkcontext|indentheuristic|wserrorhighlight|statgraphwidth|tool|guitool|relative|suppressblankempty)$/,
  merge:
    /^(?:conflictstyle|ff|stat|renames|renamelimit|tool|guitool|log|branchdesc|autostash|directoryrenames|verbosity)$/,
  difftool: /./,
  mergetool: /./,
  log: /^(?:date|decorate|follow|abbrevcommit|showroot|graphcolors|initialdecorationset)$/,
  status:
    /^(?:showuntrackedfiles|short|branch|showstash|aheadbehind|renames|renamelimit|relativepaths|displaycommentprefix)$/,
  grep: /^(?:linenumber|column|patterntype|extendedregexp|threads|fullname)$/,
  blame: /^(?:coloring|date|blankboundary|showemail|showroot)$/,
  tag: /^(?:gpgsign|forcesignannotated|sort)$/,
  commit: /^(?:gpgsign|verbose|cleanup|status)$/,
  rebase:
    /^(?:autosquash|autostash|updaterefs|abbreviatecommands|instructionformat|missingcommitscheck|stat|backend|rebasemerges|forkpoint|reschedulefailedexec)$/,
  rerere: /^(?:enabled|autoupdate)$/,
  init: /^defaultbranch$/,
  color: /./,
  advice: /./,
  gc: /^(?:auto|autodetach|autopacklimit|aggressivedepth|aggressivewindow|bigpackthreshold|cruftpacks|pruneexpire|worktreepruneexpire|reflogexpire|reflogexpireunreachable|rerereresolved|rerereunresolved|writecommitgraph|packrefs|logexpiry)$/,
  pack: /^(?:window|windowmemory|depth|threads|compression|packsizelimit|deltacachesize|deltacachelimit|indexversion|usesparse|usebitmaps|writebitmaps|writebitmaphashcache|writereverseindex|readreverseindex|allowpackreuse)$/,
  index: /^(?:version|threads|sparse|skiphash|recordendofindexentries|recordoffsettable)$/,
  maintenance: /^(?:auto|strategy|autodetach)$/,
  http: /^(?:extraheader|postbuffer|sslverify|sslbackend|version|lowspeedlimit|lowspeedtime)$/,
  // This setting has an effect only in personal files.
  safe: /^(?:directory|barerepository)$/,
  lfs: /^(?:repositoryformatversion|url|pushurl|fetchinclude|fetchexclude|fetchrecent[a-z]*|prune[a-z]*|concurrenttransfers|batch|basictransfersonly|activitytimeout|dialtimeout|tlstimeout|keepalive|locksverify|lockignoredfiles|setlockablereadonly|allowincompletepush|skipdownloaderrors|gitprotocol)$/,
}

interface PartSetting {
  readonly part: string
  readonly key: string
  readonly value: string | undefined
}

const harmlessRemote =
  /^(?:url|fetch|pushurl|push|tagopt|prune|prunetags|mirror|skipdefaultupdate|skipfetchall|gh-resolved|github-pr-remote)$/

/** Sections with a name: `[remote "origin"]`. */
const harmlessParts: { readonly [name: string]: ((setting: PartSetting) => boolean) | undefined } = {
  // Many tools store their own keys here.
  branch: () => true,
  remote: ({ key }) => harmlessRemote.test(key),
  submodule: ({ key }) => /^(?:url|active|branch)$/.test(key),
  url: ({ key }) => /^(?:insteadof|pushinsteadof)$/.test(key),
  http: ({ key }) => harmlessKeys['http']?.test(key) === true,
  color: () => true,
  difftool: () => true,
  mergetool: () => true,
  maintenance: ({ key }) => /^(?:enabled|schedule)$/.test(key),
  lfs: ({ key }) =>
    /^(?:access|locksverify|contenttype|maxretries|maxretrydelay|maxverifies|enablehrefrewrite)$/.test(key),
  filter: ({ part, key, value }) => part === 'lfs' && isFilterOfLfs(key, value),
}

/** Whether the setting is a filter as `git lfs install` writes it. */
function isFilterOfLfs(key: string, value = ''): boolean {
  return (
    key === 'required' ||
    /^git-lfs (?:clean|smudge(?: --skip)?|filter-process(?: --skip)?)(?: (?:-- )?%f)?$/.test(value)
  )
}

/** Settings of the person. Whether a personal setting is harmless. Drivers of Git LFS are known; other programs that reading would start need approval. */
export function isHarmlessOfPerson({ section, key, value = 'true' }: GitSetting): boolean {
  if (section === 'filter.lfs')
    return key === 'required' || /^git-lfs (?:clean|smudge|filter-process)\b[^;&|$`<>()\p{Cc}]*$/u.test(value)
  if (/^(?:filter|diff|merge)\../.test(section))
    return (
      !/^(?:clean|smudge|process|textconv|command|driver|cachetextconv|trustexitcode)$/.test(key) ||
      key.startsWith('cache')
    )
  if (section === 'diff' && (key === 'external' || key === 'orderfile' || key === 'submodule')) return false
  if (section === 'core')
    return key !== 'fsmonitor' || /^(?:false|true|0|1)$/.test(value)
      ? key !== 'worktree' && key !== 'alternaterefscommand'
      : false
  if (section === 'log' && key === 'showsignature') return value === 'false'
  return true
}
