import { type Effect, type Grammar, type Outside, unknownEffect, unseenEffect } from '../effects.ts'
import type { ShellWord } from '../words.ts'
import {
  lsofAsksOrShows,
  mayChange,
  optionNotHarmless,
  patternMayBeTestOperator,
  pipAsksIndex,
  runsProgram,
  testSubscriptRuns,
  testUnknown,
  xxdMayWrite,
  xxdOptionWithoutNumber,
  xxdWritesSecond,
} from '../shell-texts.ts'
import { effectsByGrammar } from '../read-grammar.ts'
import { versionManagerFiles } from './versions.ts'

const networkPlace = /^[46]?(?:TCP|UDP|tcp|udp)?(?::\d{1,5}(?:[,-]\d{1,5})*)?$/

/** Accepts the list of network connections without name lookups (`-n`). All other output of lsof is about files. */
export function lsofEffects(args: readonly ShellWord[]): readonly Effect[] {
  const values = args.map(({ kind, value }) => (kind === 'literal' ? value : ''))
  const isPlain = values.every((value, at) => {
    if (/^-[nPltw]+i?$/.test(value) || /^-sTCP:[A-Z_]{1,20}$/.test(value)) return true
    const [, joined] = /^-[nPltw]*i(.*)$/s.exec(value) ?? []
    if (joined !== undefined) return networkPlace.test(joined)
    return value !== '' && /^-[nPltw]*i$/.test(values[at - 1] ?? '') && networkPlace.test(value)
  })
  const isAbout = values.some((value) => /^-[nPltw]*i/.test(value))
  const isNumeric = values.some((value) => /^-[Pltw]*n/.test(value))
  return isPlain && isAbout && isNumeric ? [] : unknownEffect(lsofAsksOrShows)
}

/**
 * xxd recognizes options by their beginning, one per word: in `-ac 5`, the option is `-a` and the file is `5`. Only
 * complete options are accepted here.
 */
const xxdFlag = /^-(?:[abCdEehiruv]|p|ps|plain)$/
const xxdNumberOption = /^-[cglos]$/
const xxdJoinedNumber = /^-[cglo](?:0x[0-9a-f]+|\d+)$/
const xxdNumber = /^[+-]{0,2}(?:0x[0-9a-f]+|\d+)$/

/** The options of xxd precede its file, and xxd writes a second file. */
export function xxdEffects(args: readonly ShellWord[]): readonly Effect[] {
  let at = 0
  for (; at < args.length; at += 1) {
    const word = args[at]
    if (word?.kind !== 'literal' || !word.value.startsWith('-') || word.value === '-') break
    if (xxdNumberOption.test(word.value)) {
      const value = args[at + 1]
      if (value?.kind !== 'literal' || !xxdNumber.test(value.value)) return unknownEffect(xxdOptionWithoutNumber)
      at += 1
    } else if (!xxdFlag.test(word.value) && !xxdJoinedNumber.test(word.value))
      return unknownEffect(optionNotHarmless(word.value))
  }
  const [file, ...others] = args.slice(at)
  if (file === undefined) return []
  if (others.length > 0) return unknownEffect(xxdWritesSecond)
  // A pattern may expand to two files.
  if (file.kind !== 'literal') return unknownEffect(xxdMayWrite)
  return file.value === '-' ? [] : [{ kind: 'read', word: file }]
}

const unary = /^-[abcdefghkprstuwxzLOGSNn]$/
const binary = /^(?:=|==|!=|<|>|-eq|-ne|-lt|-le|-gt|-ge|-nt|-ot|-ef)$/

/** `test` and `[`: a subscript in the argument of -v or -R runs the commands in it. */
export function testEffects(words: readonly ShellWord[]): readonly Effect[] {
  const args = words.at(-1)?.value === ']' && words.at(-1)?.source === ']' ? words.slice(0, -1) : words
  const isNegated = args[0]?.kind === 'literal' && args[0].value === '!'
  const rest = isNegated ? args.slice(1) : args
  if (rest.some(({ value, kind }) => kind === 'literal' && /^-[vR]$/.test(value)))
    return unknownEffect(testSubscriptRuns)
  // A name that matches the pattern may be `-v`.
  if (rest.some(({ kind }) => kind === 'glob')) return unseenEffect(patternMayBeTestOperator)
  if (rest.every(({ kind }) => kind === 'literal')) return []
  const operatorAt = rest.length === 2 ? 0 : 1
  const operator = rest[operatorAt]
  const isKnown =
    (rest.length === 2 || rest.length === 3) &&
    operator?.kind === 'literal' &&
    (rest.length === 2 ? unary : binary).test(operator.value) &&
    rest.every(({ kind, isOne }) => kind === 'literal' || isOne === true)
  return isKnown ? [] : unknownEffect(testUnknown)
}

/**
 * Subcommands of pip that are described. Any other subcommand needs approval: `freeze` runs git and hg in folders of
 * editable packages, and hg runs what their settings name.
 */
const pipCommands: Readonly<Record<string, Grammar>> = {
  list: {
    options:
      '-leqv --local --user --not-required --editable --exclude-editable --include-editable --exclude:text --format:text ' +
      '--quiet --verbose --no-color --no-input --disable-pip-version-check',
    // Refused: these options query an index, run another Python, write a log or read other places.
    refused: '-o --outdated -u --uptodate --python --path --log --proxy --index-url --find-links --cache-dir --cert',
    operands: [],
    optionsAnywhere: true,
  },
  show: {
    options: '-fqv --files --quiet --verbose --no-color --no-input --disable-pip-version-check',
    refused: '--python --log --proxy --cache-dir --cert',
    operands: ['text'],
    optionsAnywhere: true,
  },
}

/** pip and its Python, with the code and settings that they load before they parse their arguments. */
const pipOutside: Outside = {
  programs: ['pip', 'pip3', 'python', 'python3'],
  variables:
    'HOME PYTHONPATH PYTHONHOME PYTHONUSERBASE PYTHONPYCACHEPREFIX PIP_CONFIG_FILE PIP_PYTHON PIP_LOG PIP_LOG_FILE PIP_PATH PIP_CACHE_DIR XDG_CONFIG_HOME XDG_CONFIG_DIRS XDG_CACHE_HOME XDG_DATA_HOME'.split(
      ' ',
    ),
}

export function pipEffects(args: readonly ShellWord[]): readonly Effect[] {
  const [first, ...rest] = args
  const chosen: Effect = { kind: 'chosen', by: versionManagerFiles, neverBy: [], outside: pipOutside }
  if (first?.kind !== 'literal') return unknownEffect(runsProgram)
  if (args.length === 1 && /^(?:-V|--version)$/.test(first.value)) return [chosen]
  const grammar = Object.hasOwn(pipCommands, first.value) ? pipCommands[first.value] : undefined
  if (grammar === undefined) return unknownEffect(mayChange(`pip ${first.value}`))
  // pip checks for a newer version of itself.
  const hardened: Effect = { kind: 'hardened', why: pipAsksIndex }
  return [...effectsByGrammar(grammar, rest), chosen, hardened]
}
