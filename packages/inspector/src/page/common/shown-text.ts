import { visible } from '@halting/analysis/words'

/** One line of a text from elsewhere, at most so long. */
export function shownText(text: string, most: number): string {
  return text.length <= most ? visible(text) : `${visible(text.slice(0, most))}…`
}
