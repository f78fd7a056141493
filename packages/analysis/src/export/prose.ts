import { escaped } from './escaped.ts'

/**
 * What a model wrote as Markdown, as HTML: blocks of code, headings, code and bold in a line. Everything is escaped first and nothing else becomes
 * an element: no link, no image, no HTML of its own.
 */
export function prose(text: string): string {
  const out: string[] = []
  let plain: string[] = []
  const flush = (): void => {
    const joined = plain.join('\n').replace(/^\n+/, '').trimEnd()
    if (joined !== '') out.push(`<p>${joined}</p>`)
    plain = []
  }
  const lines = text.split('\n')
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] ?? ''
    const fence = /^ {0,3}(`{3,}|~{3,})[^`]*$/.exec(line)?.[1]
    if (fence !== undefined) {
      const end = lines.findIndex((each, at) => at > index && isClosing(each, fence))
      const until = end < 0 ? lines.length : end
      flush()
      out.push(`<pre>${escaped(lines.slice(index + 1, until).join('\n'))}</pre>`)
      index = until
      continue
    }
    const heading = /^#{1,6} (.*)$/.exec(line)?.[1]
    plain.push(heading === undefined ? inLine(line) : `<strong>${escaped(heading)}</strong>`)
  }
  flush()
  return out.join('\n')
}

function isClosing(line: string, fence: string): boolean {
  const trimmed = line.trim()
  return trimmed.length >= fence.length && trimmed === (fence[0] ?? '').repeat(trimmed.length)
}

/** Code and bold within a line; what is neither is escaped alike. */
function inLine(line: string): string {
  return line
    .split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/)
    .map((part, index) => {
      if (index % 2 === 0) return escaped(part)
      return part.startsWith('`')
        ? `<code>${escaped(part.slice(1, -1))}</code>`
        : `<strong>${escaped(part.slice(2, -2))}</strong>`
    })
    .join('')
}
