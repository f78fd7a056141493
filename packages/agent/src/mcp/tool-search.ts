import type { AnyTool, Tool } from '@halting/core'
import * as texts from './mcp-texts.ts'
import { filledText, inputForm, optional, wholeNumber } from '../tools/input.ts'

interface ToolSearchInput {
  readonly query: string
  readonly max_results?: number
}

const maxFound = 20
const usualFound = 5
/** Maximum number of words: each is searched in the full description of every tool. */
const maxWords = 50

/** Finds tools that the model cannot see yet, and offers them from its next message on. */
export function createToolSearch(
  servers: () => readonly string[],
  all: () => readonly AnyTool[],
  show: (names: readonly string[]) => void,
): Tool<ToolSearchInput> {
  const form = inputForm<ToolSearchInput>('ToolSearch', {
    query: filledText('What the tool should do; +WORD must be in its name; select:NAME,NAME finds tools by full name'),
    max_results: optional(
      wholeNumber(`Maximum number of tools (default: ${usualFound}, at most ${maxFound})`, { minimum: 1 }),
    ),
  })
  const named = (): string => servers().join(', ').slice(0, 1_000)
  return {
    name: 'ToolSearch',
    get description() {
      return texts.toolSearchDescription(named())
    },
    inputSchema: form.schema,
    readOnly: true,
    concurrencySafe: true,
    validate: (input) => form.validate(input),
    execute({ query, max_results: most = usualFound }) {
      const found = search(query, all()).slice(0, query.startsWith('select:') ? maxFound : Math.min(most, maxFound))
      show(found.map(({ name }) => name))
      if (found.length === 0) return texts.noToolFits(query.slice(0, 200), named())
      const lines = found.map(({ name, description }) => texts.foundTool(name, firstOf(description)))
      return [texts.toolsFound, ...lines].join('\n')
    },
  }
}

function firstOf(description: string): string {
  const line = description.replace(/\s+/g, ' ').trim()
  return line.length <= 300 ? line : `${line.slice(0, 300)} [...]`
}

/**
 * Finds tools by name if names are given; otherwise tools whose names contain all words with a plus, ranked by the
 * number of matching words.
 */
function search(query: string, tools: readonly AnyTool[]): readonly AnyTool[] {
  const [, names] = /^select:(.*)$/s.exec(query.trim()) ?? []
  if (names !== undefined) {
    const wantedNames = new Set(names.split(',').map((name) => name.trim()))
    return tools.filter(({ name }) => wantedNames.has(name))
  }
  const words = (query.toLowerCase().match(/[\p{L}\d]{2,}/gu) ?? []).slice(0, maxWords)
  const needed = [...query.toLowerCase().matchAll(/(?<=^|\s)\+([\p{L}\d_]+)/gu)].map(([, word = '']) => word)
  const named = tools.filter(({ name }) => needed.every((word) => name.toLowerCase().includes(word)))
  const scored = named.map((tool) => ({ tool, score: scoreOf(tool, words) })).filter(({ score }) => score > 0)
  return scored.toSorted((one, other) => other.score - one.score).map(({ tool }) => tool)
}

function scoreOf({ name, description }: AnyTool, words: readonly string[]): number {
  const inName = name.toLowerCase()
  const text = description.toLowerCase()
  return words.reduce((sum, word) => sum + (inName.includes(word) ? 3 : 0) + (text.includes(word) ? 1 : 0), 0)
}
