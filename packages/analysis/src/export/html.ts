import { endings, type ContentBlock, type MessageContent } from '@halting/core'
import { inputSummary, isText } from '@halting/core/adapters'
import { goalFacts } from '../words/goal-words.ts'
import { verificationFacts } from '../words/verification-words.ts'
import { elapsed } from '../words/figures.ts'
import { jsonText } from '../words/json-text.ts'
import { shortened } from '../words/visible.ts'
import { escapeHtml } from './escape-html.ts'
import { endingText, sessionTotals } from './session-totals.ts'
import { pageHead } from './page-head.ts'
import { pageStyle } from './page-style.ts'
import { changeLines } from '../view/change-lines.ts'
import {
  plainText,
  type Part,
  type TranscriptCall,
  type RunTranscript,
  type SessionTranscript,
} from '../view/session-transcript.ts'
import type { NextStep } from '../why/next-step.ts'

// A single file without external resources (`pageHead`). Images are embedded as data, of known types only. Folding uses `<details>`, so that keys
// work.

/** Maximum number of characters of a text. Longer texts are shortened to their beginning and end, because a page with complete texts would not open. */
const maxTextLength = 50_000

/** Longer prompts and answers are folded. */
const maxUnfoldedLength = 6_000

/** The session as an HTML page. */
export function* htmlOf(session: SessionTranscript, title: string, next: NextStep): Iterable<string> {
  const last = session.runs.at(-1)
  yield `${pageHead(title, pageStyle)}<body>
<a class="skip" href="#said">Skip to the transcript</a>
<header>
<h1 dir="auto">${escapeHtml(title)}</h1>
<dl>${sessionTotals(session)
    .map(([name, value]) => `<dt>${name}</dt><dd dir="auto">${escapeHtml(value)}</dd>`)
    .join('')}</dl>
${last === undefined ? '' : endOf(last)}
${next.says === '' && next.command === undefined ? '' : `<p class="soft">${escapeHtml(next.says)}</p>`}
${next.command === undefined ? '' : `<pre>${escapeHtml(next.command)}</pre>`}
</header>
`
  yield navOf(session.runs)
  yield '<main id="said">\n'
  for (const [index, run] of session.runs.entries()) {
    yield `<section aria-labelledby="run${index}"><h2 id="run${index}">Run ${index + 1}</h2>\n`
    for (const part of run.parts) yield* partHtml(part)
    yield `${endOf(run)}</section>\n`
  }
  yield '</main>\n</body>\n</html>\n'
}

function endOf({ account: { ending, goal, verification }, grade }: RunTranscript): string {
  const facts = [
    ...(goal === undefined ? [] : goalFacts(goal)),
    ...(verification === undefined ? [] : verificationFacts(verification).map((fact) => `Last change: ${fact}`)),
    ...(grade === undefined ? [] : [`Graded by a person: ${grade}.`]),
  ]
  const goals = facts.length === 0 ? '' : `<ul>${facts.map((fact) => `<li>${escapeHtml(fact)}</li>`).join('')}</ul>`
  const isBad = ending === null || endings[ending.reason].exitCode !== 0
  return `<div class="end${isBad ? ' bad' : ''}"><strong>Ended:</strong> ${escapeHtml(endingText(ending))}${goals}</div>\n`
}

/** Links to the runs by their first prompt, when there are several. */
function navOf(runs: readonly RunTranscript[]): string {
  if (runs.length < 2) return ''
  const items = runs.map(({ parts }, index) => {
    const first = parts.find((part) => part.kind === 'person')
    const text = first === undefined ? `Run ${index + 1}` : plainText(first.content).slice(0, 120)
    return `<li><a href="#run${index}" dir="auto">${escapeHtml(text)}</a></li>`
  })
  return `<nav aria-label="Runs"><ol>${items.join('')}</ol></nav>\n`
}

function* partHtml(part: Part): Iterable<string> {
  switch (part.kind) {
    case 'person': {
      const text = plainText(part.content)
      yield folded('person', head(part.by, text), contentHtml(part.content), text.length <= maxUnfoldedLength)
      return
    }
    case 'answer':
      yield folded(
        'answer',
        head('Answer', part.text),
        markdownHtml(shortened(part.text, maxTextLength)),
        part.text.length <= maxUnfoldedLength,
      )
      return
    case 'thinking':
      yield folded(
        'thinking',
        head('Thinking', part.text),
        `<p>${escapeHtml(shortened(part.text, maxTextLength))}</p>`,
        false,
      )
      return
    case 'note': {
      const { text, more = '' } = part
      if (more === '') yield `<p class="soft">${escapeHtml(text)}</p>\n`
      else yield folded('note', escapeHtml(text), `<p>${escapeHtml(shortened(more, maxTextLength))}</p>`, false)
      return
    }
    case 'check': {
      const { status, text, more } = part
      const summary = `<span class="by">Check</span> <span${status === 'met' ? '' : ' class="bad"'}>${escapeHtml(text)}</span>`
      if (more === '') yield `<p>${summary}</p>\n`
      else yield folded('check', summary, `<pre dir="auto">${escapeHtml(shortened(more, maxTextLength))}</pre>`, false)
      return
    }
    case 'call':
      yield* callHtml(part)
  }
}

function* callHtml(call: TranscriptCall): Iterable<string> {
  const changes = changeLines(call)
  const took = call.durationMs === undefined ? '' : elapsed(call.durationMs)
  const how = call.result === undefined ? 'no result on record' : call.isError ? 'failed' : ''
  const about = inputSummary(call.input)
  yield `<details class="call"><summary><span class="by">${escapeHtml(call.name)}</span> <bdi>${escapeHtml(about.slice(0, 200))}</bdi> ${
    how === '' ? '' : `<strong class="bad">${how}</strong> `
  }<span class="soft">${took}</span></summary>\n`
  if (changes.length > 0) yield `<pre class="diff">${changes.slice(0, maxLines).map(changeHtml).join('')}</pre>\n`
  if (changes.length > maxLines) yield `<p class="soft">${changes.length - maxLines} more lines are left out.</p>\n`
  if (changes.length === 0)
    yield `<pre dir="auto">${escapeHtml(shortened(inputText(call.input), maxTextLength))}</pre>\n`
  if (call.agent.length > 0) {
    yield '<div class="agent">\n'
    for (const part of call.agent) yield* partHtml(part)
    yield '</div>\n'
  }
  if (call.result !== undefined) yield `<div><span class="soft">Result</span>${contentHtml(call.result, 'pre')}</div>\n`
  yield '</details>\n'
}

const maxLines = 2_000

function changeHtml(line: string): string {
  const kind = line.startsWith('+') ? 'add' : line.startsWith('-') ? 'cut' : line.startsWith('@@') ? 'hunk' : ''
  return `<span${kind === '' ? '' : ` class="${kind}"`}>${escapeHtml(shortened(line, maxTextLength))}</span>`
}

/** A command as plain text; any other input as JSON. */
function inputText(input: unknown): string {
  if (typeof input === 'object' && input !== null && 'command' in input && typeof input.command === 'string')
    return input.command
  return jsonText(input)
}

function contentHtml(content: MessageContent, element: 'p' | 'pre' = 'p'): string {
  if (typeof content === 'string')
    return `<${element} dir="auto">${escapeHtml(shortened(content, maxTextLength))}</${element}>`
  return content.map((block) => (isText(block) ? contentHtml(block.text, element) : blockHtml(block))).join('\n')
}

const pictures: ReadonlySet<unknown> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

function blockHtml(block: ContentBlock): string {
  const source =
    block.type === 'image' ? (block.source as { readonly media_type?: unknown; readonly data?: unknown }) : {}
  const { media_type: kind, data } = source
  if (pictures.has(kind) && typeof data === 'string' && /^[A-Za-z0-9+/]+={0,2}$/.test(data))
    return `<img alt="A picture of this conversation" loading="lazy" src="data:${String(kind)};base64,${data}">`
  return `<p class="soft">[${escapeHtml(block.type)}]</p>`
}

function folded(kind: string, summary: string, content: string, isOpen: boolean): string {
  return `<details class="${kind}"${isOpen ? ' open' : ''}><summary>${summary}</summary>\n${content}\n</details>\n`
}

/** The author, and for a folded part also its beginning. */
function head(by: string, text: string): string {
  const begins =
    text.length <= maxUnfoldedLength && by !== 'Thinking'
      ? ''
      : ` <bdi class="soft">${escapeHtml(text.slice(0, 100))}</bdi>`
  return `<span class="by">${by}</span>${begins}`
}

/**
 * Renders Markdown of a model as HTML: code blocks, headings, inline code and bold. Everything is escaped first; links, images and HTML stay plain
 * text.
 */
function markdownHtml(text: string): string {
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
      out.push(`<pre>${escapeHtml(lines.slice(index + 1, until).join('\n'))}</pre>`)
      index = until
      continue
    }
    const heading = /^#{1,6} (.*)$/.exec(line)?.[1]
    plain.push(heading === undefined ? inlineHtml(line) : `<strong>${escapeHtml(heading)}</strong>`)
  }
  flush()
  return out.join('\n')
}

function isClosing(line: string, fence: string): boolean {
  const trimmed = line.trim()
  return trimmed.length >= fence.length && trimmed === (fence[0] ?? '').repeat(trimmed.length)
}

/** Inline code and bold; all text is escaped. */
function inlineHtml(line: string): string {
  return line
    .split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/)
    .map((part, index) => {
      if (index % 2 === 0) return escapeHtml(part)
      return part.startsWith('`')
        ? `<code>${escapeHtml(part.slice(1, -1))}</code>`
        : `<strong>${escapeHtml(part.slice(2, -2))}</strong>`
    })
    .join('')
}
