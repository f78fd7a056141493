import type { Grammar } from '../effects.ts'

const format = '--format:text --pretty?text --oneline --abbrev-commit --no-abbrev-commit --abbrev?text --date:text '

const diff =
  '-puszabwWRD -U:text -G:text -S:text -M?text -C?text -B?text -X?text --patch --no-patch --unified:text --raw --stat?text --numstat --shortstat ' +
  '--dirstat?text --cumulative --summary --name-only --name-status --color?text --no-color --color-words?text ' +
  '--word-diff?text --word-diff-regex:text --color-moved?text --minimal --patience --histogram --diff-algorithm:text ' +
  '--no-renames --find-renames?text --find-copies?text --find-copies-harder --diff-filter:text --ignore-space-change ' +
  '--ignore-all-space --ignore-blank-lines --ignore-space-at-eol --ignore-cr-at-eol --ignore-matching-lines:text --inter-hunk-context:text ' +
  '--function-context --full-index --binary --text --exit-code --quiet --check --relative?text --no-relative --src-prefix:text ' +
  '--dst-prefix:text --no-prefix --pickaxe-all --pickaxe-regex --no-ext-diff --no-textconv --compact-summary --root --cc '

const walk =
  '-n:text -i -E -F -P -g --max-count:text --skip:text --since:text --after:text --until:text --before:text --author:text ' +
  '--committer:text --grep:text --all-match --invert-grep --regexp-ignore-case --extended-regexp --fixed-strings ' +
  '--perl-regexp --merges --no-merges --first-parent --all --branches?text --tags?text --remotes?text --glob:text ' +
  '--exclude:text --reflog --cherry-pick --left-right --left-only --right-only --cherry-mark --boundary --count ' +
  '--simplify-by-decoration --full-history --dense --sparse --ancestry-path --date-order --author-date-order ' +
  '--topo-order --reverse --walk-reflogs --graph --no-graph --decorate?text --no-decorate --decorate-refs:text ' +
  '--source --no-walk --parents --children --follow --log-size -m -c --diff-merges:text --no-diff-merges ' +
  '--show-pulls --no-notes --mailmap --use-mailmap --no-mailmap --min-parents:text --max-parents:text ' +
  '--relative-date --clear-decorations --encoding:text '

const refusedDiff =
  '--output --ext-diff --textconv --no-index --submodule --orderfile -O --anchored --stdin --show-signature --notes --ignore-submodules --output-indicator-new --output-indicator-old --output-indicator-context'

/** The arguments of `git config get` and `git config list`. */
export const configByVerb: Grammar = {
  options:
    '-lz --list --get --get-all --get-regexp --get-urlmatch --global --local --system --worktree --show-origin ' +
    '--show-scope --name-only --null --type:text --bool --int --bool-or-int --path --includes --no-includes --default:text --all --regexp',
  refused:
    '-f --file --blob --add --replace-all --unset --unset-all --rename-section --remove-section -e --edit --get-color --get-colorbool --fixed-value --expiry-date --no-type --comment --append --value --url --show-names',
  operands: ['text'],
  optionsAnywhere: true,
}

const commands: Readonly<Record<string, Grammar>> = {
  status: {
    options:
      '-sbzv --short --branch --show-stash --porcelain?text --long --verbose --untracked-files?text -u?text --ignored?text --column?text ' +
      '--no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames?text --null',
    refused: '--ignore-submodules',
    operands: ['read'],
  },
  log: {
    options: `${walk}${format}${diff}-L:text`,
    refused: refusedDiff,
    operands: ['read'],
    numbers: true,
  },
  show: { options: `${walk}${format}${diff}`, refused: refusedDiff, operands: ['read'], numbers: true },
  whatchanged: { options: `${walk}${format}${diff}`, refused: refusedDiff, operands: ['read'], numbers: true },
  diff: {
    options: `${diff}${format}--cached --staged --merge-base -1 -2 -3 --base --ours --theirs -0`,
    refused: refusedDiff,
    operands: ['read'],
  },
  'diff-tree': {
    options: `${diff}${format}-r -t -m -c --no-commit-id --root`,
    refused: refusedDiff,
    operands: ['read'],
  },
  blame: {
    options:
      '-bceflnpstw -M?text -C?text -L:text --root --show-stats --score-debug --show-name --show-number --porcelain --line-porcelain --show-email ' +
      '--date:text --abbrev:text --since:text --first-parent --color-lines --color-by-age --minimal --reverse --progress --no-progress',
    // Refused: these options show files, or content that git derives from files.
    refused: '--contents --ignore-revs-file --ignore-rev -S --incremental --encoding',
    operands: ['read'],
  },
  shortlog: {
    options: `${walk}${format}-sne --summary --numbered --email --group:text`,
    operands: ['read'],
    numbers: true,
  },
  describe: {
    options:
      '--all --tags --contains --abbrev:text --candidates:text --exact-match --long --match:text --exclude:text --always --first-parent',
    // Refused: these options make git read the files and enter submodules.
    refused: '--dirty --broken --debug',
    operands: ['text'],
  },
  'rev-parse': {
    options:
      '-q --verify --quiet --short?text --abbrev-ref?text --symbolic --symbolic-full-name --all --branches?text --tags?text ' +
      '--remotes?text --show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir --absolute-git-dir ' +
      '--is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository ' +
      '--show-object-format --revs-only --no-revs --flags --no-flags --since:text --until:text --git-path:text',
    // Refused: the option runs git in the surrounding repository, without the settings that disable programs.
    refused: '--show-superproject-working-tree',
    operands: ['read'],
  },
  'rev-list': {
    options: `${walk}${format}--objects --disk-usage --no-object-names`,
    refused: '--stdin --use-bitmap-index',
    operands: ['read'],
    numbers: true,
  },
  'ls-files': {
    options:
      '-ztvfcdmoiskr --cached --deleted --modified --others --ignored --stage --unmerged --killed --directory ' +
      '--no-empty-directory --eol --deduplicate --exclude-standard --error-unmatch --full-name --abbrev?text --debug --sparse -u',
    refused:
      '-x -X --exclude --exclude-from --exclude-per-directory --recurse-submodules --with-tree --format --resolve-undo',
    operands: ['read'],
  },
  'ls-tree': {
    options:
      '-drtlz --long --name-only --name-status --object-only --abbrev?text --full-name --full-tree --format:text',
    operands: ['read'],
  },
  'cat-file': {
    options: '-tsep --use-mailmap',
    refused: '--textconv --filters --batch --batch-check --batch-command --path',
    operands: ['read'],
  },
  'merge-base': { options: '-a --all --octopus --is-ancestor --independent --fork-point', operands: ['text'] },
  'name-rev': {
    options: '--tags --refs:text --exclude:text --all --name-only --always --no-undefined',
    refused: '--stdin --annotate-stdin',
    operands: ['text'],
  },
  'show-ref': {
    options: '-dqs --heads --tags --verify --head --dereference --hash?text --abbrev?text --quiet',
    refused: '--exclude-existing',
    operands: ['text'],
  },
  'for-each-ref': {
    options:
      '--count:text --sort:text --format:text --points-at:text --merged?text --no-merged?text --contains?text --no-contains?text --ignore-case --exclude:text',
    refused: '--shell --perl --python --tcl --stdin',
    operands: ['text'],
  },
  grep: {
    options:
      '-aiIwvhHEGFPnlLzocpWq -e:text -A:text -B:text -C:text -m:text --cached --untracked --no-exclude-standard --text --ignore-case ' +
      '--word-regexp --invert-match --full-name --extended-regexp --basic-regexp --fixed-strings --perl-regexp ' +
      '--line-number --column --files-with-matches --name-only --files-without-match --null --only-matching --count --color?text ' +
      '--no-color --break --heading --show-function --context:text --after-context:text --before-context:text ' +
      '--function-context --threads:text --and --or --not --all-match --quiet --max-depth:text --max-count:text --recursive -r --no-recursive --no-textconv',
    refused: '--no-index -f -O --open-files-in-pager --textconv --ext-grep --recurse-submodules --parent-basename',
    operands: ['text', 'read'],
    replacesFirst: ['-e'],
    numbers: true,
  },
  'check-ignore': {
    options: '-qvzn --quiet --verbose --non-matching --no-index',
    refused: '--stdin',
    operands: ['list'],
  },
  'check-attr': { options: '-az --all --cached', refused: '--stdin --source', operands: ['list'] },
  'count-objects': { options: '-vH --verbose --human-readable', operands: [] },
  cherry: { options: '-v --abbrev?text', operands: ['text'] },
  version: { options: '--build-options', operands: [] },
  branch: {
    options:
      '-arvi --all --remotes --verbose --list --show-current --contains?text --no-contains?text --merged?text --no-merged?text --points-at:text ' +
      '--sort:text --format:text --color?text --no-color --abbrev?text --no-abbrev --column?text --no-column --ignore-case',
    operands: ['text'],
  },
  tag: {
    options:
      '-lin --list --contains?text --no-contains?text --merged?text --no-merged?text --points-at:text --sort:text --format:text --color?text --column?text --no-column --ignore-case -n?text',
    operands: ['text'],
  },
  remote: { options: '-v --verbose --push --all', operands: ['text'] },
  // `git config user.name --get` sets the name to `--get`.
  config: { ...configByVerb, optionsFirst: true },
  stash: {
    options: `${diff}${format}-n:text --include-untracked --only-untracked`,
    refused: refusedDiff,
    operands: ['text'],
  },
  reflog: { options: `-n:text ${format}--all --max-count:text`, operands: ['text'], numbers: true },
  worktree: { options: '-vz --verbose --porcelain', operands: ['text'] },
}

/** The arguments of git subcommands. Operands are revisions or paths, and each is also judged as a path. */
export const gitCommands: Readonly<Record<string, Grammar>> = Object.fromEntries(
  Object.entries(commands).map(([name, grammar]) => [name, { ...grammar, optionsAnywhere: true }]),
)
