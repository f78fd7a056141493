import { readFileSync } from 'node:fs'
import { readCorpus } from '../corpus/read-corpus.ts'
import { randomFrom } from '../fuzz-grammar.ts'
import { type Production, shellGrammar } from './shell-grammar.ts'

const deepest = 8
/** Maximum number of productions of one line; after that short ones are used. */
const maxProductions = 45

/** Commands of daily use, and commands that do harm. */
function corpusCommands(root: string): readonly string[] {
  const daily = readFileSync(new URL('../corpus/friction.txt', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !/^(?:\/\/|== )/.test(line))
  const hostile = readCorpus('commands').map(({ command }) => command.replaceAll('@W', root))
  return [...daily, ...hostile].filter((command) => command.length <= 300)
}

/** Inserted anywhere. */
const noise = [
  ...Array.from('\'"`$()<>{}[]|&;#\\!=*? \n\t~:-'),
  '\\\n',
  '\\\n',
  '\\\n',
  '\\\n',
  '\\\\\n',
  '$(',
  '<(',
  '"$"',
  "$'",
  '${',
  '((',
  '))',
  '[[',
  '\u00A0',
  '\r',
]

/** Generates lines of shell, from the grammar or from the corpus with insertions. The same lines for the same seed. */
export class LineMaker {
  readonly #random: () => number
  readonly #home: string
  readonly #corpus: readonly string[]
  #productions = 0
  #marks = 0

  constructor(seed: number, { root, home }: { readonly root: string; readonly home: string }) {
    this.#random = randomFrom(seed)
    this.#home = home
    this.#corpus = corpusCommands(root)
  }

  next(): string {
    this.#productions = 0
    this.#marks = 0
    const line = this.#random() < 0.8 ? this.#make('line', 0) : this.#fromCorpus()
    return this.#random() < 0.25 ? this.#withNoise(line) : line
  }

  #make(rule: string, depth: number): string {
    if (rule === 'n') return String((this.#marks += 1))
    if (rule === 'home') return this.#home
    this.#productions += 1
    const { all, short } = shellGrammar[rule] ?? { all: [], short: [] }
    const isLate = depth >= deepest || this.#productions > maxProductions
    const production: Production = this.#pick(isLate ? short : all)
    const make = (inner: string): string => this.#make(inner, depth + 1)
    if (typeof production === 'function') return production(make)
    return production.replaceAll(/«([\w ]+)»/g, (_, inner: string) => make(inner))
  }

  #fromCorpus(): string {
    const command = this.#pick(this.#corpus)
    const kind = this.#random()
    if (kind < 0.15)
      return `${command}${this.#pick([' | ', ' && ', '; ', '\n', ' & ', ' || '])}${this.#make('command', 3)}`
    if (kind < 0.25) return this.#wrapped(command)
    if (kind < 0.3) return `${command} ${this.#make('word', 3)}`
    const words = command.split(' ')
    const at = Math.floor(this.#random() * words.length)
    const word = this.#make('word', 3)
    if (kind < 0.5) words[at] = word
    else if (kind < 0.7) words.splice(at, 0, word)
    else if (kind < 0.85) words[at] = `${words[at] ?? ''}${word}`
    else return this.#withNoise(command)
    return words.join(' ')
  }

  #wrapped(command: string): string {
    return this.#pick([
      `echo $(${command})`,
      `{ ${command}; }`,
      `(${command})`,
      `cat <(${command})`,
      `a=(x)$(${command}); ls`,
      `a="$(${command})"; ls`,
      `if ls; then ${command}; fi`,
      `case x in x) ${command};; esac`,
      `f() { ${command}; }; f`,
      `for i in a; do ${command}; done`,
      `cat <<E\n$(${command})\nE`,
      `! ${command}`,
      `time ${command}`,
    ])
  }

  #withNoise(line: string): string {
    let changed = line
    for (let count = 1 + Math.floor(this.#random() * 2); count > 0; count -= 1) {
      const at = Math.floor(this.#random() * (changed.length + 1))
      const kind = this.#random()
      if (kind < 0.6) changed = changed.slice(0, at) + this.#pick(noise) + changed.slice(at)
      else if (kind < 0.75) changed = changed.slice(0, at) + changed.slice(at + 1)
      else if (kind < 0.85) changed = changed.slice(0, at) + changed.slice(Math.max(0, at - 1))
      else if (kind < 0.95) changed = changed.slice(0, at) + this.#make('substitution', 6) + changed.slice(at)
      else changed = changed.slice(0, at)
    }
    return changed
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)]!
  }
}
