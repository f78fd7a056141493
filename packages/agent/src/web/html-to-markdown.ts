import { createRequire } from 'node:module'
import { inWorker } from '../in-worker.ts'

export interface MarkdownOptions {
  /** The base URL of links. */
  readonly base: string
  readonly signal: AbortSignal
  /** Time limit of the library in milliseconds (default: 15 s). */
  readonly maxMs?: number
}

const usualMs = 15_000
const maxMegabytes = 512
/** Longer pages are truncated first: the conversion time grows faster than the page. */
const maxCharacters = 1_000_000

/**
 * Converts a page to Markdown in a thread, because pages may block the converter forever. If the conversion fails,
 * only the tags are removed.
 */
export async function markdownOf(html: string, { base, signal, maxMs = usualMs }: MarkdownOptions): Promise<string> {
  const page = html.slice(0, maxCharacters)
  const require = createRequire(import.meta.url)
  const library = require.resolve('turndown')
  const end = await inWorker(code, { library, page, base }, { signal, maxMs, maxMegabytes })
  return end.kind === 'done' && typeof end.value === 'string' ? end.value : plainText(page)
}

const code = `
  const Turndown = require(data.library)
  const turndown = new Turndown({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-', hr: '---' })
  turndown.remove(['script', 'style', 'noscript', 'template', 'iframe', 'object', 'embed', 'title', 'button', 'input', 'select', 'dialog'])
  turndown.remove((node) => node.nodeName.toLowerCase() === 'svg')
  const absolute = (address) => {
    try {
      const url = new URL(address, data.base)
      return url.protocol === 'https:' || url.protocol === 'http:' ? url.href.slice(0, 500) : undefined
    } catch {
      return undefined
    }
  }
  turndown.addRule('links', {
    filter: (node) => node.nodeName === 'A' && node.getAttribute('href') !== null,
    replacement: (content, node) => {
      const href = absolute(node.getAttribute('href'))
      const text = content.trim().replace(/\\s*\\n\\s*/g, ' ')
      return text === '' || href === undefined || node.getAttribute('href').startsWith('#') ? text : '[' + text + '](' + href + ')'
    },
  })
  turndown.addRule('images', {
    filter: 'img',
    replacement: (_, node) => {
      const text = (node.getAttribute('alt') ?? '').trim()
      const source = absolute(node.getAttribute('src') ?? 'data:')
      return text === '' ? '' : source === undefined ? text : '![' + text + '](' + source + ')'
    },
  })
  turndown.addRule('cells', { filter: ['th', 'td'], replacement: (content) => ' ' + content.trim().replace(/\\s*\\n\\s*/g, ' ').replace(/\\|/g, '\\\\|') + ' |' })
  turndown.addRule('rows', {
    filter: 'tr',
    replacement: (content, node) => {
      const isHead = node.getElementsByTagName('th').length > 0 && node.getElementsByTagName('td').length === 0
      const cells = node.getElementsByTagName('th').length
      return '|' + content.replace(/\\n/g, '') + '\\n' + (isHead ? '|' + ' --- |'.repeat(cells) + '\\n' : '')
    },
  })
  turndown.addRule('tables', { filter: ['table'], replacement: (content) => '\\n\\n' + content.replace(/\\n{2,}/g, '\\n').trim() + '\\n\\n' })
  return turndown.turndown(data.page).replace(/[ \\t]+$/gm, '').replace(/\\n{3,}/g, '\\n\\n').trim()
`

/** Removes tags in time linear in the length of the page. */
function plainText(html: string): string {
  const parts: string[] = []
  let at = 0
  while (at < html.length) {
    const open = html.indexOf('<', at)
    if (open === -1) {
      parts.push(html.slice(at))
      break
    }
    parts.push(html.slice(at, open))
    const close = html.indexOf('>', open)
    if (close === -1) break
    const name = /^<\s*(script|style)\b/i.exec(html.slice(open, open + 20))?.[1]
    at = name === undefined ? close + 1 : endOf(html, name, close)
  }
  // Line by line: a pattern for white space around line ends takes quadratic time on long runs of it.
  return parts
    .join(' ')
    .replace(/[ \t]+/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n')
}

function endOf(html: string, name: string, from: number): number {
  const end = html.indexOf(`</${name}`, from)
  return end === -1 ? html.length : end
}
