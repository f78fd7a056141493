import { type Effect, type ParsedArguments, type Grammar, type Outside, unknownEffect } from '../effects.ts'
import {
  lateOptionMayBeFile,
  lessopenMayRun,
  manMayReadFile,
  mayReadOtherEnding,
  removesFile,
  runsOwnCommand,
} from '../shell-texts.ts'

/** The programs that find and format pages are in system folders, so that no page comes from the project. */
const manPages: Outside = { programs: ['man'], variables: ['HOME', 'PATH', 'MANPATH'] }

/** Programs that page text on a terminal and print it otherwise: commands have no terminal. */
export const viewers: Readonly<Record<string, Grammar>> = {
  less: {
    options: '-aAcCdeEfFgGiIKLmMnNqQrRsSuUwWX',
    // Refused: these options write a file, read a file with keys or tags, or open files that are not shown.
    refused: '-o -O -k -t -T --tag-file -p -P -b -B -D -h -j -J -V -x -y -z',
    operands: ['read'],
    check: pagerEffects,
  },
  more: {
    options: '',
    refused:
      '-d --silent -l --logical -f --no-pause -p --print-over -c --clean-print -e --exit-on-eof -s --squeeze -u --plain -n --lines -h -V',
    operands: ['read'],
    check: pagerEffects,
  },
  zcat: compressed('-lv --verbose '),
  gunzip: compressed('-clv --stdout --to-stdout --verbose '),
  gzip: compressed('-cdlv --stdout --to-stdout --decompress --uncompress --verbose '),
  man: {
    options: '-fkaw --whatis --apropos --all --where --path --location',
    // Refused: these options run the program that they name, or read pages and settings from other places.
    refused:
      '-P --pager -H --html -p --preprocessor -l --local-file -C --config-file -M --manpath -m --systems -R --recode',
    operands: ['text'],
    check: ({ operands, options }) =>
      [...operands, ...options.flatMap(({ value }) => value ?? [])].every(
        ({ kind, value }) => kind === 'literal' && /^[A-Za-z0-9_][\w.+:-]*$/.test(value),
      )
        ? [{ kind: 'chosen', by: [], neverBy: [], outside: manPages }]
        : unknownEffect(manMayReadFile),
  },
}

/** A word with a leading plus is a command for less, and LESSOPEN names a program that opens each file. */
function pagerEffects({ operands }: ParsedArguments): readonly Effect[] {
  if (operands.some(({ value }) => value.startsWith('+'))) return unknownEffect(runsOwnCommand)
  return [{ kind: 'hardened', why: lessopenMayRun }]
}

/** Options with which the program writes to stdout and not to a file: `-c`, or options that only list or test. */
const toOutput: ReadonlySet<string> = new Set('-c --stdout --to-stdout -l --list -t --test'.split(' '))

function compressed(more: string): Grammar {
  const isAlwaysToOutput = !more.startsWith('-c')
  return {
    options: `${more}-qt --quiet --test --list --help --version`,
    refused:
      '-f --force -k --keep -n --no-name -N --name -r --recursive -S --suffix --synchronous --rsyncable -L --license -1 --fast -9 --best -h -V -a --ascii',
    operands: ['read'],
    check: ({ operands, options, ordered }) => {
      if (operands.length === 0) return []
      if (ordered !== undefined) return unknownEffect(lateOptionMayBeFile)
      if (!isAlwaysToOutput && !options.some(({ name }) => toOutput.has(name))) return unknownEffect(removesFile)
      // For a name without a known extension, the program also tries the name with one.
      if (!operands.every(({ kind, value }) => kind !== 'dynamic' && /\.(?:gz|tgz)$/.test(value)))
        return unknownEffect(mayReadOtherEnding)
      // On BSD, zcat reads files that compress wrote.
      return operands.map((word) => ({ kind: 'read', word: { ...word, value: `${word.value}.Z` } }))
    },
  }
}
