import { visible } from '../words/visible.ts'

const names: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Text from elsewhere as text of a page, in an element or between quotes: none of it is markup. */
export function escaped(text: string): string {
  return visible(text).replaceAll(/[&<>"']/g, (character) => names[character] ?? '')
}
