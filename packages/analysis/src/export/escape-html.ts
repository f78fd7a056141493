import { visible } from '../words/visible.ts'

const names: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

/** Escapes untrusted text for HTML, in an element or between quotes. */
export function escapeHtml(text: string): string {
  return visible(text).replaceAll(/[&<>"']/g, (character) => names[character] ?? '')
}
