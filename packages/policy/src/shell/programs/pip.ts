import { type Effect, type Grammar, type Outside, unknown } from '../effects.ts'
import { effectsByGrammar } from '../read-grammar.ts'
import type { ShellWord } from '../words.ts'
import { ofManagers } from './versions.ts'
import { mayChange, pipAsksIndex, runsProgram } from '../shell-texts.ts'

/** Everything else asks: `freeze` runs git and hg in folders of editable packages, and hg runs what their settings name. */
const commands: Readonly<Record<string, Grammar>> = {
  list: {
    options:
      '-leqv --local --user --not-required --editable --exclude-editable --include-editable --exclude:text --format:text ' +
      '--quiet --verbose --no-color --no-input --disable-pip-version-check',
    // They ask an index, run another Python, write a log or look elsewhere.
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

/** pip and the Python that it is run by, with what they load and read before they look at their words. */
const outside: Outside = {
  programs: ['pip', 'pip3', 'python', 'python3'],
  variables:
    'HOME PYTHONPATH PYTHONHOME PYTHONUSERBASE PYTHONPYCACHEPREFIX PIP_CONFIG_FILE PIP_PYTHON PIP_LOG PIP_LOG_FILE PIP_PATH PIP_CACHE_DIR XDG_CONFIG_HOME XDG_CONFIG_DIRS XDG_CACHE_HOME XDG_DATA_HOME'.split(
      ' ',
    ),
}

export function pipEffects(args: readonly ShellWord[]): readonly Effect[] {
  const [first, ...rest] = args
  const chosen: Effect = { kind: 'chosen', by: ofManagers, neverBy: [], outside }
  if (first?.kind !== 'literal') return unknown(runsProgram)
  if (args.length === 1 && /^(?:-V|--version)$/.test(first.value)) return [chosen]
  const grammar = Object.hasOwn(commands, first.value) ? commands[first.value] : undefined
  if (grammar === undefined) return unknown(mayChange(`pip ${first.value}`))
  // It looks for a newer pip.
  const hardened: Effect = { kind: 'hardened', why: pipAsksIndex }
  return [...effectsByGrammar(grammar, rest), chosen, hardened]
}
