import { visible } from '@halting/analysis/words'

/** Untrusted text on one line, cut to a maximum length. */
export function shownText(text: string, most: number): string {
  return text.length <= most ? visible(text) : `${visible(text.slice(0, most))}…`
}
