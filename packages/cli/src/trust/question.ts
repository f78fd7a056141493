import type { Offer } from '@halting/policy'
import { askLine, type QuestionTerminal, isYes } from '../io/ask.ts'
import { many, oneLine } from '../io/figures.ts'
import { hidden, numbered } from '../io/seen.ts'

/**
 * What trusting a folder would have run and loosened, a line each, all of it and whole: what was out of sight would count
 * all the same. What weighs most stands last, above the question. Text of the project steers no terminal.
 */
export function offersText(folder: string, offers: readonly Offer[]): string {
  if (offers.length === 0) return `The settings of ${oneLine(folder, 300)} run nothing and allow nothing extra.\n`
  const width = offers.reduce((widest, { setting }) => Math.max(widest, setting.length), 0)
  const marked = offers.filter(({ needsNaming }) => needsNaming).length
  const running = offers.filter(({ setting }) => runs.has(setting)).length
  return [
    `Trusting ${oneLine(folder, 300)} applies these settings:`,
    ...offers
      .toSorted((one, other) => weight(one) - weight(other))
      .map(({ setting, text, needsNaming }) => `  ${needsNaming ? '!' : ' '} ${setting.padEnd(width)}  ${whole(text)}`),
    ...(offers.length > screen
      ? [`  Total: ${many(offers.length, 'setting')}, ${running} run something, ${marked} are marked !.`]
      : []),
    ...(marked > 0 ? ['! can make other programs run, load or send something, or disables a permission request.'] : []),
    '',
  ].join('\n')
}

/** More lines are counted too: they scroll. */
const screen = 20
const runs: ReadonlySet<string> = new Set(['hooks', 'until', 'apiKeyHelper', 'statusLine', 'mcpServers', 'commands'])

function weight({ setting, needsNaming }: Offer): number {
  if (needsNaming) return 2
  return runs.has(setting) ? 1 : 0
}

/** And many blanks. */
const unseen = new RegExp(`${hidden}| {9,}`, 'gu')

/** In one line, and every character of it is seen: one that was left out could part two commands, or hide one. */
function whole(text: string): string {
  return text.replaceAll(unseen, (found) => {
    if (found === '\n') return '⏎'
    if (found.startsWith(' ')) return ` ⟦${found.length} blanks⟧ `
    return numbered(found)
  })
}

/** Asks a person; anything but yes is no. */
export async function askTrust(terminal: QuestionTerminal): Promise<boolean> {
  return isYes(await askLine('Trust this folder and apply these settings from now on? [y/N] ', terminal))
}
