import { type Effect, type ParsedArguments, type Grammar, unknownEffect } from '../effects.ts'
import { isHarmlessAwk } from '../programs/awk.ts'
import { isHarmlessSed } from '../programs/sed.ts'
import { awkMayWrite, jqMayRead, sedMayWrite } from '../shell-texts.ts'

/** Commands that take a pattern or a program as an argument. */
export const search: Readonly<Record<string, Grammar>> = {
  grep: grepLike('-r --recursive', '-R --dereference-recursive'),
  egrep: grepLike('-r --recursive', '-R --dereference-recursive'),
  fgrep: grepLike('-r --recursive', '-R --dereference-recursive'),
  rg: {
    options:
      '-cFhHiIlLnNopPqsSuUvVwx0 -A:text -B:text -C:text -e:text -E:text -g:text -j:text -m:text -M:text -r:text -t:text -T:text ' +
      '--after-context:text --before-context:text --context:text --regexp:text --encoding:text --glob:text --iglob:text ' +
      '--threads:text --max-count:text --max-columns:text --max-columns-preview --replace:text --type:text ' +
      '--type-not:text --type-list --max-depth:text --max-filesize:text --sort:text --sortr:text --color:text ' +
      '--colors:text --count --count-matches --fixed-strings --files --files-with-matches --files-without-match ' +
      '--heading --no-heading --hidden --ignore-case --invert-match --json --line-number --no-line-number ' +
      '--line-regexp --multiline --multiline-dotall --no-filename --with-filename --no-ignore --no-ignore-vcs ' +
      '--no-messages --null --one-file-system --only-matching --passthru --pcre2 --pretty --quiet --smart-case ' +
      '--case-sensitive --stats --text --trim --unrestricted --vimgrep --word-regexp --column --no-config --byte-offset --version --help',
    // --pre runs a program, -z starts decompressors, -f and --ignore-file read the file that they name, -L follows links.
    refused: '--pre --pre-glob -z --search-zip -f --file --ignore-file --hostname-bin --hyperlink-format --follow',
    operands: ['text', 'read'],
    replacesFirst: ['-e', '--regexp', '--files', '--type-list'],
    defaultsToFolder: true,
    tree: [],
    follows: ['-L', '--follow'],
    optionsAnywhere: true,
    // Settings of rg may contain `--pre`, which names a program.
    check: () => [
      { kind: 'chosen', by: [], neverBy: [], outside: { programs: [], variables: ['RIPGREP_CONFIG_PATH'] } },
    ],
  },
  sed: {
    options:
      '-nErsuz -e:text -l:number --quiet --silent --debug --expression:text --line-length:number --posix --regexp-extended ' +
      '--separate --sandbox --unbuffered --null-data --help --version',
    refused: '-i --in-place -f --file --follow-symlinks',
    operands: ['text', 'read'],
    replacesFirst: ['-e', '--expression'],
    check: programCheck(['-e', '--expression'], isHarmlessSed, sedMayWrite),
  },
  awk: awkLike(),
  gawk: awkLike(),
  mawk: awkLike(),
  jq: {
    options:
      '-nescrRCMSja --null-input --exit-status --slurp --compact-output --raw-output --raw-input --color-output ' +
      '--monochrome-output --sort-keys --tab --indent:number --join-output --ascii-output --help --version',
    refused: '-f --from-file -L --arg --argjson --slurpfile --rawfile --args --jsonargs',
    operands: ['text', 'read'],
    optionsAnywhere: true,
    check: programCheck([], isHarmlessJq, jqMayRead),
  },
}

function grepLike(tree: string, follows: string): Grammar {
  return {
    options:
      '-EFGPiwxzsvVbnHhoqaIrRLlcTZUy -e:text -m:number -A:number -B:number -C:number -d:text -D:text --extended-regexp ' +
      '--fixed-strings --basic-regexp --perl-regexp --regexp:text --ignore-case --no-ignore-case --word-regexp ' +
      '--line-regexp --null-data --no-messages --invert-match --max-count:number --byte-offset --line-number ' +
      '--line-buffered --with-filename --no-filename --label:text --only-matching --quiet --silent ' +
      '--binary-files:text --text --recursive --dereference-recursive --include:text --exclude:text ' +
      '--exclude-dir:text --files-without-match --files-with-matches --count --initial-tab --null ' +
      '--before-context:number --after-context:number --context:number --group-separator:text --no-group-separator ' +
      '-f:read --file:read --color?text --colour?text --binary --directories:text --devices:text --help --version',
    refused: '--exclude-from',
    operands: ['text', 'read'],
    replacesFirst: ['-e', '--regexp', '-f', '--file'],
    numbers: true,
    tree: [...tree.split(' '), ...follows.split(' '), '-d', '--directories'],
    follows: follows.split(' '),
    defaultsToFolder: true,
  }
}

function awkLike(): Grammar {
  return {
    options: '-F:text -v:text --help --version',
    refused:
      '-f -i -e -l -E -o -d -p -D -L -b -c -C -g -h -I -k -M -N -n -O -P -r -s -S -t -V --file --include --load --exec ' +
      '--source --lint',
    operands: ['text', 'read'],
    optionsFirst: true,
    check: programCheck([], isHarmlessAwk, awkMayWrite),
  }
}

/**
 * Checks the program (script), which is the value of these options, or the first operand. No option makes it harmless:
 * some implementations print their version, others run the program.
 */
function programCheck(
  names: readonly string[],
  isHarmless: (program: string) => boolean,
  why: string,
): (parsed: ParsedArguments) => readonly Effect[] {
  return ({ options, operands }) => {
    const giving = options.filter(({ name }) => names.includes(name))
    // Only some implementations accept an option after an operand; others read the operand as the program.
    const isGivenEarly = giving.some(({ isLate }) => !isLate)
    const programs = [...giving.map(({ value }) => value), ...(isGivenEarly ? [] : operands.slice(0, 1))]
    if (programs.length === 0) return options.some(({ name }) => infoOptions.has(name)) ? [] : unknownEffect(why)
    const isKnown = programs.every(
      (word) => word?.kind === 'literal' && word.isFound !== true && isHarmless(word.value),
    )
    return isKnown ? [] : unknownEffect(why)
  }
}

const infoOptions: ReadonlySet<string> = new Set(['--version', '--help'])

/** Whether a jq program reads no modules, no environment and no input but its files. */
function isHarmlessJq(program: string): boolean {
  return !/\b(?:import|include|env|ENV|input_filename|get_search_list|modulemeta|halt_error|debug|stderr|\$__loc__)\b/.test(
    // `.env` is a field of the input.
    program.replaceAll(/(?<![.\d])\.[A-Za-z_]+/g, '.x'),
  )
}
