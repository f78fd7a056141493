// Holds rules of docs/spec: R-SESS-9: sessions as files that a person reads or hands on.
import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readJournal, wholeLines } from '@halting/journal'
import { agentTool, tool, type RunStream } from '@halting/core'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { describe, expect, test } from 'vitest'
import { htmlOf, markdownOf } from '@halting/analysis/export'
import { sessionTranscript } from '@halting/analysis/view'
import { visible } from '@halting/analysis/words'
import { here, installProgram, run } from './support/program.ts'
import { toolReply, storeSession, textReply, sessionPath } from './support/store-session.ts'

installProgram()

const ids = (n: number): string => `aaaaaaaa-0000-4000-8000-${String(n).padStart(12, '0')}`
let count = 0
const kept = async (
  ...args: Parameters<typeof storeSession> extends [string, ...infer Rest] ? Rest : never
): Promise<string> => {
  const id = ids(++count)
  await storeSession(id, ...args)
  return id
}

const wide = (replies: readonly ScriptedReply[]): ReturnType<typeof scriptedModel> =>
  scriptedModel(replies, { contextWindow: 50_000_000, maxOutputTokens: 1_000 })

const hunks = [{ oldStart: 1, oldLines: 1, newStart: 1, newLines: 1, lines: ['-const a = 1', '+const a = 2'] }]
const edit = tool({
  name: 'Edit',
  description: '',
  execute: () => ({ content: 'edited', details: { structuredPatch: hunks } }),
})
const fails = tool({ name: 'Bash', description: '', execute: () => ({ content: 'no such file', isError: true }) })

describe('halting sessions export', () => {
  test('html: writes one page with figures and ending at the top, the conversation, and edits as diffs', async () => {
    const replies = [
      toolReply(['Edit', { file_path: 'a.ts' }], ['Bash', { command: 'ls x' }]),
      textReply('All **done**.\n```js\na < b\n```'),
    ]
    const id = await kept(replies, { tools: [edit, fails] })
    const { status, stdout, stderr } = await run(['sessions', 'export', id])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const [head = '', said = ''] = stdout.split('<main')
    expect(head).toMatch(/^<!doctype html>/)
    expect(head).toContain('<h1 dir="auto">go</h1>')
    expect(head).toContain('<dt>Turns</dt><dd dir="auto">2, 2 requests</dd>')
    expect(head).toContain('<dt>Cost</dt><dd dir="auto">$2.20</dd>')
    expect(head).toContain('<strong>Ended:</strong> completed: ')
    expect(said).toContain('<span class="cut">-const a = 1</span><span class="add">+const a = 2</span>')
    expect(said).toMatch(/<bdi>ls x<\/bdi> <strong class="bad">failed<\/strong>/)
    expect(said).toContain('<p>All <strong>done</strong>.</p>\n<pre>a &lt; b</pre>')
    // Nothing is fetched and nothing runs.
    expect(stdout).not.toMatch(/<script|<link|<iframe|https?:|@import|url\(/i)
    expect(head).toMatch(
      /content="default-src 'none'; style-src 'sha256-[\w+/=]+'; img-src data:; base-uri 'none'; form-action 'none'"/,
    )
  })

  test('says how to resume a run that stopped at a limit, and shows an unfinished one as far as it goes', async () => {
    const id = await kept([toolReply(['Read', { file_path: 'a.ts' }]), toolReply(['Read', {}])], { maxTurns: 1 })
    expect((await run(['sessions', 'export', id])).stdout).toContain(`halting -p --resume ${id} --max-turns 2`)
    const lines = readFileSync(sessionPath(id), 'utf8').split('\n')
    const cut = join(here(), 'cut.jsonl')
    const result = lines.findIndex((line) => line.includes('"tool_result"'))
    expect(result).toBeGreaterThan(2)
    writeFileSync(cut, `${lines.slice(0, result + 1).join('\n')}\n`)
    const { stdout } = await run(['sessions', 'export', cut])
    expect(stdout).toContain('No ending is recorded.')
    expect(stdout).toContain('<bdi>a.ts</bdi>')
    expect(stdout).toContain('seen seen')
  })

  test('shows the work of a subagent inside its call', async () => {
    const research = agentTool({
      name: 'Agent',
      description: '',
      spawn: () => ({ prompt: 'look', agentType: 'scout' }),
    })
    const id = await kept(
      [toolReply(['Agent', { prompt: 'look', description: 'x' }]), textReply('from within'), textReply('done')],
      {
        tools: [research],
      },
    )
    const { stdout } = await run(['sessions', 'export', id])
    expect(stdout).toMatch(/<div class="agent">[^]*from within[^]*<\/div>[^]*done/)
    const markdown = (await run(['sessions', 'export', id, '--format', 'markdown'])).stdout
    expect(markdown).toMatch(/#### Answer\n\n```markdown\nfrom within\n```/)
  })

  test('--output writes a private file, never over another one without --force, never over the session', async () => {
    const id = await kept([textReply('hello')])
    const [file, before] = [join(here(), 'out.html'), readFileSync(sessionPath(id))]
    const command = ['sessions', 'export', id, '--output', 'out.html']
    expect(await run(command)).toEqual({ status: 0, stdout: '', stderr: 'halting: wrote out.html\n' })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    writeFileSync(file, 'mine')
    expect(await run(command)).toEqual({
      status: 2,
      stdout: '',
      stderr: 'halting: out.html already exists. Name another file, or add --force to replace it.\n',
    })
    expect(readFileSync(file, 'utf8')).toBe('mine')
    expect((await run([...command, '--force'])).status).toBe(0)
    expect(readFileSync(file, 'utf8')).toContain('hello')
    const itself = ['sessions', 'export', id, '--format', 'jsonl', '--output', sessionPath(id), '--force']
    expect(await run(itself)).toMatchObject({ status: 2 })
    expect(readFileSync(sessionPath(id))).toEqual(before)
    expect((await run([...command.slice(0, -1), 'gone/out.html'])).stderr).toMatch(
      /^halting: gone\/out.html cannot be written: ENOENT/,
    )
    expect((await run(['sessions', 'show', id, '--format', 'html'])).stderr).toBe(
      'halting: --format belongs to halting sessions export.\n',
    )
    rmSync(file)
  })

  test('--output never replaces anything that is not a file, even with --force', async () => {
    const id = await kept([textReply('hello')])
    const [pipe, link] = [join(here(), 'pipe'), join(here(), 'link')]
    execFileSync('sh', ['-c', 'mkfifo "$0"', pipe])
    symlinkSync(pipe, link)
    for (const [file, said] of [
      [pipe, 'is not a regular file'],
      [link, 'is not a regular file'],
      [here(), 'is a folder'],
    ] as const)
      expect(await run(['sessions', 'export', id, '--output', file, '--force'])).toMatchObject({
        status: 2,
        stderr: expect.stringContaining(said),
      })
    expect([lstatSync(pipe).isFIFO(), lstatSync(link).isSymbolicLink()]).toEqual([true, true])
    rmSync(pipe)
    // A dangling link is replaced, not followed.
    expect((await run(['sessions', 'export', id, '--output', link])).status).toBe(2)
    expect([(await run(['sessions', 'export', id, '--output', link, '--force'])).status, existsSync(pipe)]).toEqual([
      0,
      false,
    ])
    rmSync(link)
  })

  test('jsonl: is complete with long texts, and readable by every session reader', async () => {
    const long = 'x'.repeat(1_200_000)
    const big = tool({ name: 'Read', description: '', readOnly: true, execute: () => long })
    const id = await kept([toolReply(['Read', {}]), textReply('done')], {
      tools: [big],
      model: wide([toolReply(['Read', {}]), textReply('done')]),
    })
    const copy = join(here(), 'copy.jsonl')
    expect((await run(['sessions', 'export', id, '--format', 'jsonl', '--output', 'copy.jsonl'])).status).toBe(0)
    expect(existsSync(sessionPath(id).replace('.jsonl', '/payloads'))).toBe(true)
    expect((await readJournal(copy)).runs).toEqual((await readJournal(sessionPath(id))).runs)
    expect((await run(['why', copy])).stdout).toContain('completed')
  })
})

/** Texts that have a special meaning in an output format. */
const hostile: readonly string[] = [
  '</script><script>alert(1)</script>',
  '<!-- --> --!> <img src=x onerror=alert(1)>',
  '" onload="alert(1)" x="',
  "' onmouseover='alert(1)",
  '</pre></details></main><style>*{display:none}</style>',
  '<![CDATA[ x ]]> &lt;b&gt; &#60;script&#62;',
  'a\u2028b\u2029c\u0085d\u000Be\u000Cf\u001Cg\rh',
  '\u202Egnp.exe\u202C \u2066x\u2069 \u200F',
  'half \uD83D and \uDE00 of one',
  'nul \u0000 escape \u001B[31m red \u001B]0;title\u0007 \u009B31m',
  '```\n# heading\n````\n~~~\n![x](http://tracker.invalid/p.png)\n`````',
  '[click](javascript:alert(1)) <javascript:alert(1)> http://plain.invalid',
  '`'.repeat(40),
  '\n\n    indented\n\n---\n\n| a | b |\n|---|---|',
  '\u{E0041}\u{E0042} tags',
  'data:text/html,<script>alert(1)</script>',
]

/** A session in which each text is in every field that others fill. */
async function sayEverywhere(text: string): Promise<string> {
  const id = ids(++count)
  const strange = tool({
    name: 'Read',
    description: '',
    readOnly: true,
    execute: () => ({
      content: [
        { type: 'text' as const, text },
        { type: 'image' as const, source: { type: 'base64', media_type: `image/png${text}`, data: text } },
      ],
      details: { structuredPatch: [{ oldStart: text, lines: [`+${text}`, `-${text}`, text] }] },
    }),
  })
  const replies = [
    {
      toolCalls: [
        { name: 'Read', input: { file_path: text, [text]: text } },
        { name: `No${text}`, input: { command: text } },
      ],
      text,
      thinking: text,
    },
    toolReply(['Edit', { old_string: text, new_string: text }]),
    textReply(text),
  ]
  await storeSession(id, replies, { tools: [strange, fails] }, (running: RunStream) => void running.followUp(text))
  return id
}

// oxlint-disable no-control-regex -- these are what may not be there
const unseen =
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069\p{Surrogate}]/u
const lineEnds = /\r\n|[\n\v\f\r\u001C-\u001E\u0085\u2028\u2029]/
// oxlint-enable no-control-regex
const own =
  /^<(?:!doctype html|\/?(?:html|head|body|meta|title|style|a|header|h1|h2|dl|dt|dd|div|strong|p|pre|nav|ol|li|main|section|details|summary|span|bdi|code|img)(?: (?:lang|charset|http-equiv|content|name|class|href|id|dir|aria-label|aria-labelledby)="[^"<>]*"| open)*)>$/
const empty = new Set(['!doctype', 'meta', 'img'])

test.each(hostile.map((text) => [JSON.stringify(text).slice(0, 60), text] as const))(
  'neutralizes texts in every format: %s',
  async (_name, text) => {
    const path = sessionPath(await sayEverywhere(text))
    const journal = await readJournal(path)
    const session = sessionTranscript(journal)

    const html = [...htmlOf(session, text, { says: text, command: text })].join('')
    const open: string[] = []
    const closed: (readonly [name: string, opened: string | undefined])[] = []
    const [before = '', after = ''] = html.split(/<style>[^]*?<\/style>/)
    for (const [tag] of `${before}${after}`.matchAll(/<[^>]*>?/g)) {
      expect(tag).toMatch(own)
      const name = /^<\/?([^\s>]+)/.exec(tag)?.[1] ?? ''
      if (tag.startsWith('</')) closed.push([name, open.pop()])
      else if (!empty.has(name)) open.push(name)
    }
    expect(open).toEqual([])
    expect(closed.filter(([name, opened]) => name !== opened)).toEqual([])
    expect(html).not.toMatch(unseen)

    const markdown = [...markdownOf(session, text)].join('')
    expect(markdown).not.toMatch(unseen)
    let fence = ''
    const outside: string[] = []
    for (const line of markdown.split('\n')) {
      const found = /^(`{3,}|~{3,})(\w*)$/.exec(line)
      if (fence === '') {
        if (found === null) outside.push(line)
        else fence = found[1] ?? ''
      } else if (found !== null && found[2] === '' && found[1]?.startsWith(fence) === true) fence = ''
    }
    expect(fence).toBe('')
    for (const line of outside) {
      const plain = line.replaceAll(/(?<!`)(`+) .*? \1(?!`)/g, '')
      expect(plain).toMatch(/^(?:#{1,6} )?(?:- )?[\w ,.:]*$/)
    }

    const lines = [...(await wholeLines(path))].join('')
    expect(lines.trimEnd().split(lineEnds)).toEqual(lines.trimEnd().split('\n'))
    const copy = join(here(), 'hostile.jsonl')
    writeFileSync(copy, lines)
    expect((await readJournal(copy)).runs).toEqual(journal.runs)
  },
)

test('writes the page of a large session completely', async () => {
  const turns = process.env['HALTING_DEEP'] !== undefined ? 5_000 : 500
  const replies = [
    ...Array.from({ length: turns }, (_, at) => toolReply(['Read', { file_path: `f${at}.ts` }])),
    textReply('done'),
  ]
  const id = await kept(replies, { maxTurns: turns + 1, model: wide(replies) })
  const html = [...htmlOf(sessionTranscript(await readJournal(sessionPath(id))), 'many', { says: '' })].join('')
  expect(html.match(/<details class="call">/g)).toHaveLength(turns)
}, 120_000)

test('shows zero-width characters, and keeps emoji and scripts that need them', () => {
  const hidden = [
    '\u200b',
    '\u2060',
    '\ufeff',
    '\u00ad',
    '\u{e0100}',
    '\u{e01ef}',
    '\u3164',
    '\u115f',
    '\u180e',
    '\u034f',
  ]
  for (const each of hidden) expect(visible(`a${each}b`)).toMatch(/^a⟦U\+[0-9A-F]{4,5}⟧b$/)
  // Latin letters need none of these, and nothing needs two.
  for (const text of ['a\u200cb\u200dc', '\u0645\u200c\u200c\u0645', 'a\ufe0f', '\u{1f600}\ufe0f\ufe0f'])
    expect(visible(text)).toContain('⟦U+')
  for (const text of [
    '\u2764\ufe0f\u200d\u{1f525}',
    '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
    '1\ufe0f\u20e3',
    '\u{1f44d}\u{1f3fd}\u200d\u2642\ufe0f',
    '\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645',
    '\u0915\u094d\u200d\u0937',
  ])
    expect(visible(text)).toBe(text)
})
