import { analyseShell } from '../../../src/shell/analysis.ts'
import { sourceOf } from '../../../src/shell/words.ts'
import type { Reading } from './disagreements.ts'

/** Faulty readings, each with a kind of fault that our analysis once had. */
export const wrongReadings: Readonly<Record<string, Reading>> = {
  'does not look into process substitutions': (line) => {
    const analysis = analyseShell(line)
    const inner = [...line.matchAll(/[<>]\(([^()]*)\)/g)].flatMap(([, list = '']) => analyseShell(list).commands)
    const dropped = new Set(inner.map(({ words }) => sourceOf(words)))
    return { ...analysis, commands: analysis.commands.filter(({ words }) => !dropped.has(sourceOf(words))) }
  },
  'takes a line continuation for a blank': (line) => analyseShell(line.replaceAll('\\\n', ' ')),
  "takes `$'…'` for `'…'`": (line) => analyseShell(line.replaceAll("$'", "'")),
  'takes an array for a word without substitutions': (line) =>
    analyseShell(line.replaceAll(/=\([^()]*(?:\([^()]*\)[^()]*)*\)\S*/g, '=x')),
  'does not look into the word of an expansion in quotes': (line) =>
    analyseShell(line.replaceAll(/"\$\{(\w+)[^{}]*\}"/g, '"$$$1"')),
}
