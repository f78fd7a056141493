import { type Effect, type ParsedArguments, type Grammar, unknownEffect } from '../effects.ts'
import { couldStartWithDash } from '../read-grammar.ts'
import { lateOptionMayBeTarget, movedUnknown, needsTwoOperands, readsOptionsFromFile } from '../shell-texts.ts'

/** Commands that show files or information about them. */
export const files: Readonly<Record<string, Grammar>> = {
  ls: {
    options:
      '-aAbBcCdDfFgGhHiklLmnNoqQrRsStuUvxXZ1 -I:list -p -T:number -w:number --all --almost-all --author --escape ' +
      '--block-size:text --ignore-backups --color?text --directory --dired --classify?text --file-type --format:text ' +
      '--full-time --group-directories-first --no-group --human-readable --si --dereference-command-line ' +
      '--dereference-command-line-symlink-to-dir --hide:text --hyperlink?text --indicator-style:text --inode ' +
      '--ignore:text --kibibytes --dereference --numeric-uid-gid --literal --hide-control-chars --show-control-chars ' +
      '--quote-name --quoting-style:text --reverse --recursive --size --sort:text --time:text --time-style:text ' +
      '--tabsize:text --width:text --context --zero --help --version',
    operands: ['list'],
    defaultsToFolder: true,
    tree: ['-R', '--recursive'],
    follows: ['-L', '--dereference', '-H', '--dereference-command-line'],
  },
  cat: {
    options:
      '-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting ' +
      '--help --version',
    operands: ['read'],
  },
  tac: { options: '-br -s:text --before --regex --separator:text --help --version', operands: ['read'] },
  head: {
    options:
      '-qvz -c:text -n:text --bytes:text --lines:text --quiet --silent --verbose --zero-terminated --help --version',
    operands: ['read'],
    numbers: true,
  },
  tail: {
    options:
      '-fFqvz -c:text -n:text -s:text --bytes:text --follow?text --lines:text --max-unchanged-stats:text --pid:text ' +
      '--quiet --silent --retry --sleep-interval:text --verbose --zero-terminated --help --version',
    operands: ['read'],
    numbers: true,
  },
  wc: {
    options: '-cmlLw --bytes --chars --lines --max-line-length --words --help --version',
    // Refused: the option reads the list of input files from a file.
    refused: '--files0-from',
    operands: ['read'],
  },
  nl: {
    options:
      '-p -b:text -d:text -f:text -h:text -i:text -l:text -n:text -s:text -v:text -w:text --body-numbering:text ' +
      '--section-delimiter:text --footer-numbering:text --header-numbering:text --line-increment:text ' +
      '--join-blank-lines:text --number-format:text --no-renumber --number-separator:text ' +
      '--starting-line-number:text --number-width:text --help --version',
    operands: ['read'],
  },
  cut: {
    options:
      '-nsz -b:text -c:text -d:text -f:text --bytes:text --characters:text --delimiter:text --fields:text ' +
      '--complement --only-delimited --output-delimiter:text --zero-terminated --help --version',
    operands: ['read'],
  },
  paste: { options: '-sz -d:text --delimiters:text --serial --zero-terminated --help --version', operands: ['read'] },
  comm: {
    options: '-123z --check-order --nocheck-order --output-delimiter:text --total --zero-terminated --help --version',
    operands: ['read'],
  },
  fold: { options: '-bs -w:text --bytes --spaces --width:text --help --version', operands: ['read'] },
  rev: { options: '-hV --help --version', operands: ['read'] },
  cmp: {
    options:
      '-bls -i:text -n:text --print-bytes --ignore-initial:text --verbose --bytes:text --quiet --silent --help --version',
    operands: ['read', 'read', 'text'],
  },
  tr: {
    options: '-cCdst --complement --delete --squeeze-repeats --truncate-set1 --help --version',
    operands: ['text'],
  },
  sort: {
    options:
      '-bdfgiMhnRrVmsucCz -k:text -S:text -t:text --ignore-leading-blanks --dictionary-order --ignore-case ' +
      '--general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort ' +
      '--reverse --sort:text --version-sort --batch-size:text --check?text --debug --key:text --merge --stable ' +
      '--buffer-size:text --field-separator:text --parallel:text --unique --zero-terminated --help --version',
    refused: '-o --output -T --temporary-directory --compress-program --files0-from --random-source',
    operands: ['read'],
  },
  uniq: {
    options:
      '-cdDiuz -f:text -s:text -w:text --count --repeated --all-repeated?text --skip-fields:text --group?text ' +
      '--ignore-case --skip-chars:text --unique --zero-terminated --check-chars:text --help --version',
    // The command writes the second operand.
    operands: ['read', 'write'],
  },
  diff: {
    options:
      '-qscuenypTtrNiEZbwBadv -C:text -U:text -W:text -F:text -x:text -I:text --normal --brief --report-identical-files ' +
      '--context?text --unified?text --ed --rcs --side-by-side --width:text --left-column --suppress-common-lines ' +
      '--show-c-function --show-function-line:text --label:text --expand-tabs --initial-tab --tabsize:text ' +
      '--suppress-blank-empty --recursive --no-dereference --new-file --unidirectional-new-file ' +
      '--ignore-file-name-case --no-ignore-file-name-case --exclude:text --ignore-case --ignore-tab-expansion ' +
      '--ignore-trailing-space --ignore-space-change --ignore-all-space --ignore-blank-lines ' +
      '--ignore-matching-lines:text --text --strip-trailing-cr --minimal --horizon-lines:text --speed-large-files ' +
      '--color?text --palette:text --help --version',
    // Refused: -l runs pr; the other options read files that are not in the command, or are rarely used.
    refused:
      '-l --paginate -X --exclude-from -S --starting-file --from-file --to-file -D --ifdef --GTYPE-group-format ' +
      '--line-format --LTYPE-line-format',
    // For two folders, diff compares files of the same name in both, and follows links, with or without `-r`.
    operands: ['read through links', 'read through links'],
  },
  stat: {
    options:
      '-Lft -c:text --format:text --dereference --file-system --cached:text --printf:text --terse --help --version',
    operands: ['list'],
  },
  file: {
    options:
      '-bcikLhnN0rEv -e:text -F:text --brief --checking-printout --exclude:text --exclude-quiet:text --separator:text --mime ' +
      '--apple --extension --mime-type --mime-encoding --keep-going --list --dereference --no-dereference --no-buffer ' +
      '--no-pad --print0 --raw -l --help --version',
    // -C writes, -m and -f read the files that they name, -p sets times, -z starts other programs, -s reads devices.
    refused:
      '-C --compile -m --magic-file -f --files-from -p --preserve-date -z --uncompress -Z --uncompress-noreport -s ' +
      '--special-files -S --no-sandbox -P --parameter -d --debug',
    operands: ['read'],
  },
  du: {
    options:
      '-0abcDHhklLmPSsx -B:text -d:text -t:text --null --all --apparent-size --block-size:text --bytes --total ' +
      '--dereference-args --max-depth:text --human-readable --inodes --dereference --count-links --no-dereference ' +
      '--separate-dirs --si --summarize --threshold:text --time?text --time-style:text --exclude:text ' +
      '--one-file-system --help --version',
    refused: '--files0-from -X --exclude-from',
    operands: ['list'],
    defaultsToFolder: true,
    tree: [],
    follows: ['-L', '--dereference', '-D', '-H', '--dereference-args'],
  },
  df: {
    options:
      '-ahHiklPTv -B:text -t:text -x:text --all --block-size:text --human-readable --si --inodes --local --no-sync ' +
      '--output?text --portability --total --type:text --print-type --exclude-type:text --help --version',
    refused: '--sync',
    operands: ['list'],
  },
  tree: {
    options:
      '-adfxpsugDFvctUrnhiqQNACSJX -L:text -P:text -I:text --du --si --noreport --dirsfirst --filesfirst --prune ' +
      '--gitignore --matchdirs --ignore-case --inodes --device --sort:text --timefmt:text --charset:text --filelimit:text',
    // -l follows links, -o and -R write, -H names a page; --fromfile reads a list.
    refused: '-l -o -R -H -T --fromfile --gitfile --infofile --info',
    operands: ['list'],
    defaultsToFolder: true,
    // In some implementations, `-Po a b` searches for the pattern `a` and writes its output to the file `b`.
    valuesApart: true,
  },
  od: {
    options:
      '-abcdfilosxv -A:text -j:text -N:text -t:text --address-radix:text --endian:text --skip-bytes:text --read-bytes:text ' +
      '--format:text --output-duplicates --help --version -w:text -S:text --strings?text --width?text --traditional',
    operands: ['read'],
  },
  hexdump: {
    options:
      '-bcCdoxvhV -L?text -e:text -n:text -s:text --one-byte-octal --one-byte-char --canonical --two-bytes-decimal ' +
      '--two-bytes-octal --two-bytes-hex --color?text --format:text --length:text --skip:text --no-squeezing --help --version',
    refused: '-f --format-file',
    operands: ['read'],
  },
  ...Object.fromEntries(
    ['base64', 'base32'].map((name) => [
      name,
      {
        options: '-di -w:text --decode --ignore-garbage --wrap:text --help --version',
        operands: ['read'],
      } satisfies Grammar,
    ]),
  ),
  strings: {
    options:
      '-afwovVh -n:text -t:text -e:text -U:text -s:text --all --print-file-name --bytes:text --radix:text ' +
      '--include-all-whitespace --encoding:text --unicode:text --output-separator:text --help --version',
    // Refused: with these options the command parses the file as a program, and files have been crafted to exploit that.
    refused: '-d --data -T --target',
    operands: ['read'],
    numbers: true,
    check: stringsEffects,
  },
  column: {
    options: '-t -s:text -o:text -c:text --table --separator:text --output-separator:text --output-width:text',
    operands: ['read'],
  },
  realpath: {
    options:
      '-emLPqsz --canonicalize-existing --canonicalize-missing --logical --physical --quiet --relative-to:list ' +
      '--relative-base:list --strip --no-symlinks --zero --help --version',
    operands: ['list'],
  },
  readlink: {
    options:
      '-femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose ' +
      '--zero --help --version',
    operands: ['list'],
  },
  ...Object.fromEntries(
    ['md5sum', 'sha1sum', 'sha224sum', 'sha256sum', 'sha384sum', 'sha512sum', 'b2sum'].map((name) => [
      name,
      {
        options: '-btz --binary --tag --text --zero --help --version',
        // Refused: the command reads file names from the file that it checks.
        refused: '-c --check -w --warn --ignore-missing --quiet --status --strict -l --length',
        operands: ['read'],
      } satisfies Grammar,
    ]),
  ),
  cksum: {
    options: '-z --tag --untagged --zero --debug --help --version -a:text --algorithm:text -l:text --length:text',
    refused: '-c --check -w --warn --ignore-missing --quiet --status --strict',
    operands: ['read'],
  },
}

/** Any word that begins with `@` names a file with further arguments, which may name files. */
function stringsEffects({ operands, ordered = [], options }: ParsedArguments): readonly Effect[] {
  const words = [...operands, ...ordered, ...options.flatMap(({ value }) => value ?? [])]
  const couldName = words.some(
    ({ kind, value }) => value.startsWith('@') || kind === 'dynamic' || (kind === 'glob' && couldStartWithDash(value)),
  )
  return couldName ? unknownEffect(readsOptionsFromFile) : []
}

/** Commands that change files. They run without approval in acceptEdits if the paths may be edited. */
export const changes: Readonly<Record<string, Grammar>> = {
  mkdir: { options: '-pv --parents --verbose -m:text --mode:text', refused: '-Z --context', operands: ['write'] },
  touch: {
    options: '-acfhm -d:text -t:text --no-create --date:text --no-dereference --time:text',
    refused: '-r --reference',
    operands: ['write'],
  },
  mv: {
    options: '-fnTuv --force --no-clobber --no-target-directory --update --verbose --strip-trailing-slashes',
    refused: '-b --backup -i --interactive -S --suffix -t --target-directory -Z --context',
    operands: ['write tree'],
    check: intoFolder,
  },
  cp: {
    options:
      '-afnpPdrRTuvx --archive --force --no-clobber --no-dereference --recursive --no-target-directory --update --verbose --one-file-system --attributes-only',
    refused:
      '-b --backup --copy-contents -H -i --interactive -l --link -L --dereference --preserve --no-preserve --parents --reflink --remove-destination --sparse --strip-trailing-slashes -s --symbolic-link -S --suffix -t --target-directory -Z --context',
    operands: ['write tree'],
    check: intoFolder,
  },
  rm: {
    options: '-frRdv --force --recursive --dir --verbose --one-file-system --preserve-root?text',
    refused: '-i -I --interactive --no-preserve-root',
    operands: ['write tree'],
  },
  rmdir: {
    options: '-pv --ignore-fail-on-non-empty --parents --verbose',
    operands: ['write tree'],
  },
}

/** If the last operand is a folder, the other files are written into it under their own names. */
function intoFolder({ operands, ordered }: ParsedArguments): readonly Effect[] {
  const target = operands.at(-1)
  if (ordered !== undefined) return unknownEffect(lateOptionMayBeTarget)
  if (target === undefined || operands.length < 2) return unknownEffect(needsTwoOperands)
  if (operands.some(({ kind }) => kind !== 'literal')) return unknownEffect(movedUnknown)
  return operands.slice(0, -1).flatMap((word): readonly Effect[] => {
    const place = `${target.value}/${word.value.replace(/\/+$/, '').replace(/^.*\//s, '')}`
    return [
      { kind: 'relocate', word },
      { kind: 'write tree', word: { source: place, value: place, kind: 'literal' } },
    ]
  })
}
