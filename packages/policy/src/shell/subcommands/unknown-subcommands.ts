import { memoizeByObject } from '../memoize.ts'
import type { ShellWord } from '../words.ts'
import { nextOperands } from './operands.ts'
import { familyOf, programName } from './program-names.ts'
import { syntaxOf } from './program-syntax.ts'

/** Subcommands of programs that support aliases, including common extensions. An alias never overrides these. */
const knownSubcommands: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    git:
      'add am annotate apply archive backfill bisect blame branch bugreport bundle cat-file check-attr check-ignore check-mailmap ' +
      'check-ref-format checkout checkout-index cherry cherry-pick citool clean clone column commit commit-graph commit-tree config ' +
      'count-objects credential credential-cache credential-store cvsexportcommit cvsimport cvsserver daemon describe diagnose diff diff-files ' +
      'diff-index diff-pairs diff-tree difftool fast-export fast-import fetch fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo ' +
      'format-patch fsck fsck-objects gc get-tar-commit-id grep gui hash-object help history hook http-backend http-fetch http-push imap-send ' +
      'index-pack init init-db instaweb interpret-trailers last-modified log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge ' +
      'merge-base merge-file merge-index merge-octopus merge-one-file merge-ours merge-recursive merge-recursive-ours merge-recursive-theirs ' +
      'merge-resolve merge-subtree merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes p4 pack-objects pack-redundant pack-refs ' +
      'patch-id prune prune-packed pull push quiltimport range-diff read-tree rebase receive-pack reflog refs remote repack replace replay repo ' +
      'request-pull rerere reset restore rev-list rev-parse revert rm send-email send-pack shell shortlog show show-branch show-index show-ref ' +
      'sparse-checkout stage stash status stripspace submodule subtree svn switch symbolic-ref tag unpack-file unpack-objects update-index ' +
      'update-ref update-server-info upload-archive upload-pack var verify-commit verify-pack verify-tag version whatchanged worktree write-tree ' +
      'lfs flow annex crypt secret filter-repo absorb town gitk scalar',
    cargo:
      'add bench build b check c clean clippy config doc d fetch fix fmt generate-lockfile help info init install locate-project login logout ' +
      'metadata miri new owner package pkgid publish read-manifest remove rm report run r rustc rustdoc search test t tree uninstall update ' +
      'vendor verify-project version yank audit binstall bloat chef deny doc2readme edit expand flamegraph fuzz geiger hack insta lambda ' +
      'leptos llvm-cov machete make mutants ndk nextest outdated semver-checks shuttle sort sqlx tarpaulin tauri udeps vet watch zigbuild',
    gh:
      'accessibility agent-task alias api attestation at auth browse cache co codespace cs completion config copilot extension ext extensions ' +
      'gist gpg-key help issue label licenses models org pr preview project release repo ruleset rs run search secret ssh-key status variable ' +
      'version workflow',
    hg:
      'abort add addremove amend annotate archive backout bisect blame bookmarks branch branches bundle cat checkout ci clone co commit config ' +
      'continue copy cp diff export files forget graft grep heads help histedit identify import incoming init locate log manifest merge mv ' +
      'outgoing parents paths phase pull purge push rebase recover remove rename resolve revert rm rollback root serve shelve st status strip ' +
      'summary tag tags tip transplant unbundle unshelve up update verify version',
  }).map(([program, names]) => [program, new Set(names.split(' '))]),
)

/** A subcommand that the program does not have: an alias, or an unknown program. */
export interface UnknownSubcommand {
  readonly family: string
  readonly name: string
  /** The words after it. */
  readonly rest: readonly ShellWord[]
}

export const unknownSubcommands: (words: readonly ShellWord[]) => readonly UnknownSubcommand[] = memoizeByObject(
  (words) => {
    const family = familyOf(programName(words[0]?.value ?? ''))
    const known = knownSubcommands.get(family)
    if (known === undefined) return []
    const { operands } = nextOperands(words, new Map([[1, 2]]), syntaxOf(family))
    return [...operands].flatMap(([at, sureness]) => {
      const word = words[at]
      if (word?.kind !== 'literal' || sureness !== 2 || known.has(word.value.toLowerCase())) return []
      return [{ family, name: word.value, rest: words.slice(at + 1) }]
    })
  },
)
