// Tests that text which the model wrote itself is no evidence, whatever a tool makes of it: spec R-GOAL-53 and R-GOAL-54.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { firstTextsWith, lettersOf, longestShared, unsharedLetters } from '../../src/goals/model-text.ts'
import { answers, counts, runs, says, works, type Called } from './judge-support.ts'

const claim = 'all tests pass and nothing is left to do'

describe('a quote that the model wrote', () => {
  const cases: Readonly<Record<string, readonly [Called | readonly Called[], string]>> = {
    'is echoed': [{ input: { command: `echo "${claim}"` }, result: claim }, claim],
    'is printed in pieces': [
      { input: { command: `printf '%s %s\\n' "all tests pass" "and nothing is left to do"` }, result: claim },
      claim,
    ],
    'is put together from pieces in another order': [
      { input: { command: `b="and nothing is left to do"; a="all tests pass"; echo "$a $b"` }, result: claim },
      claim,
    ],
    'is in capitals with other signs between the words': [
      {
        input: { command: `echo "${claim}" | tr a-z A-Z | tr ' ' '_'` },
        result: claim.toUpperCase().replaceAll(' ', '_'),
      },
      claim.toUpperCase().replaceAll(' ', '_'),
    ],
    'is written with escapes': [
      { input: { command: String.raw`printf '\x61ll \x74ests pass\tand nothing \151s left to do'` }, result: claim },
      claim,
    ],
    'is base64': [
      { input: { command: `echo ${Buffer.from(claim).toString('base64')} | base64 -d` }, result: claim },
      claim,
    ],
    'is hexadecimal': [
      { input: { command: `echo ${Buffer.from(claim).toString('hex')} | xxd -r -p` }, result: claim },
      claim,
    ],
    'is reversed': [
      { input: { command: `echo '${Array.from(claim).toReversed().join('')}' | rev` }, result: claim },
      claim,
    ],
    'is shifted by 13': [
      { input: { command: `tr a-z n-za-m <<< 'nyy grfgf cnff naq abguvat vf yrsg gb qb'` }, result: claim },
      claim,
    ],
    'is echoed by an error': [
      { input: { command: `cat "${claim}"` }, result: `cat: ${claim}: No such file or directory` },
      `cat: ${claim}: No such file or directory`,
    ],
    'is in a commit message': [
      [
        { input: { command: `git commit -qam "${claim}"` }, result: '' },
        { input: { command: 'git log --oneline -1' }, result: `3f2a1b9c ${claim}` },
      ],
      `3f2a1b9c ${claim}`,
    ],
    'is the name of a file': [
      [
        { input: { command: 'touch b_pass_for_sure a_all_tests' }, result: '' },
        { input: { command: 'ls' }, result: 'a_all_tests\nb_pass_for_sure' },
      ],
      'a_all_tests b_pass_for_sure',
    ],
    'is read from a file that it wrote, whatever reads it': [
      [
        {
          name: 'Write',
          input: { file_path: '/w/result.txt', content: `Tests 14 passed (14)\n${claim}` },
          result: 'Written.',
        },
        { input: { command: 'nl /w/result.txt' }, result: `     1\tTests 14 passed (14)\n     2\t${claim}` },
      ],
      'Tests 14 passed (14)',
    ],
    'is printed by a script that it passed': [
      {
        input: { command: `python3 - <<'END'\nprint("all", "tests", "pass")\nprint("and nothing is left to do")\nEND` },
        result: claim,
      },
      claim,
    ],
    'is numbered by lines': [
      {
        input: { command: `printf '%s\\n' all tests pass and none of them is left to do now | nl` },
        result: 'all tests pass and none of them is left to do now'
          .split(' ')
          .map((each, index) => `  ${index + 1}\t${each}`)
          .join('\n'),
      },
      '8\tleft\n9\tto\n10\tdo\n11\tnow',
    ],
    'is coloured': [
      {
        input: { command: `grep --color=always -e tests -e green <<< 'all the tests are green'` },
        result: 'all the \u001B[01;31m\u001B[Ktests\u001B[m\u001B[K are \u001B[01;31m\u001B[Kgreen\u001B[m\u001B[K',
      },
      'the \u001B[01;31m\u001B[Ktests\u001B[m\u001B[K are \u001B[01;31m\u001B[Kgreen',
    ],
    'comes back from a server with its input': [
      {
        name: 'mcp__memory__add',
        input: { title: 'all tests pass', text: 'and nothing is left to do' },
        result: claim,
      },
      claim,
    ],
    'is in the name of a field': [{ name: 'mcp__memory__add', input: { [claim]: true }, result: claim }, claim],
  }

  for (const [title, [calls, quote]] of Object.entries(cases))
    it(`does not count when it ${title}`, async () => {
      const conversation = [
        ...says('Do it.'),
        ...(Array.isArray(calls) ? calls : [calls]).flatMap((call) => works(call)),
      ]
      expect(await counts(conversation, quote)).toBe(false)
    })

  it('does not count when the model writes the same, before or after', async () => {
    const result = runs('npm test', 'Tests  14 passed (14) in 3 s')
    const quote = 'Tests 14 passed (14) in 3 s'
    expect(await counts([...says('Do it.'), ...result], quote)).toBe(true)
    expect(await counts([...says('Do it.'), ...answers(`I see **${quote}**`), ...result], quote)).toBe(false)
    expect(await counts([...says('Do it.'), ...result, ...answers(`I see ${quote.toUpperCase()}`)], quote)).toBe(false)
    const thought = { type: 'thinking', thinking: `They want ${quote}`, signature: '' } as const
    expect(await counts([...says('Do it.'), ...answers(thought), ...result], quote)).toBe(false)
    // The words of a person are not the model's own.
    expect(await counts([...says(`Go on until it prints ${quote}`), ...result], quote)).toBe(true)
  })

  it('does not count when the model wrote it in a conversation that was summarized', async () => {
    const old = {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'old', name: 'Bash', input: { command: `alias x='echo ${claim}'` } }],
    } as const
    const boundary = {
      kind: 'compact_boundary',
      id: 'b',
      messages: [{ role: 'user', content: 'So far.' }, old],
      trigger: 'manual',
      preTokens: 9,
      postTokens: 9,
    } as const
    expect(await counts([boundary, ...says('Do it.'), ...runs('x', claim)], claim)).toBe(false)
  })
})

describe('a quote that a program reported', () => {
  // A usual session, which wrote code and tests with the same words.
  const session = [
    ...says('Make the tests pass.'),
    ...works({
      name: 'Write',
      input: {
        file_path: '/w/test/sum.test.ts',
        content: `import { expect, test } from 'vitest'\n// All tests in this file passed before.\ntest('adds', () => expect(sum(1, 2)).toBe(3))`,
      },
      result: 'Written.',
    }),
  ]
  const reports: readonly (readonly [command: string, output: string, quote: string])[] = [
    [
      'npx vitest run',
      ' Test Files  2 passed (2)\n      Tests  14 passed (14)',
      'Test Files  2 passed (2)\n      Tests  14 passed (14)',
    ],
    [
      'npm test 2>&1 | tail -5',
      '# tests 14\n# pass 14\n# fail 0\n# cancelled 0\n# skipped 0',
      '# tests 14\n# pass 14\n# fail 0\n# cancelled 0',
    ],
    [
      'pytest -q',
      '..............                                    [100%]\n14 passed in 0.02s',
      '.............. [100%]\n14 passed in 0.02s',
    ],
    [
      'cargo test',
      'test result: ok. 14 passed; 0 failed; 0 ignored; 0 measured',
      'test result: ok. 14 passed; 0 failed',
    ],
    ['go test ./...', 'ok  \tdemo/sum\t0.003s\nok  \tdemo/top\t0.004s', 'ok demo/sum 0.003s ok demo/top 0.004s'],
    ['ls -l dist', '-rw-r--r-- 1 u u 48213 Nov 29 00:26 bundle.js', '-rw-r--r-- 1 u u 48213 Nov 29 00:26'],
    [
      'curl -sI localhost:3000',
      'HTTP/1.1 200 OK\ncontent-type: text/html; charset=utf-8',
      'HTTP/1.1 200 OK\ncontent-type: text/html',
    ],
    [
      'npx prettier --check .',
      'Checking formatting...\nAll matched files use Prettier code style!',
      'All matched files use Prettier code style!',
    ],
  ]
  for (const [command, output, quote] of reports)
    it(`counts: ${command}`, async () => {
      expect(await counts([...session, ...runs(command, output), ...answers('The tests pass.')], quote)).toBe(true)
    })
})

// Property: whatever a tool does with the words of the model, its result is no evidence.
const word = fc.constantFrom(
  'all',
  'tests',
  'pass',
  'green',
  'nothing',
  'left',
  'done',
  'build',
  'succeeded',
  'zero',
  'errors',
  '14',
  '100%',
  'ok',
)
const phrase = fc.array(word, { minLength: 6, maxLength: 14 })
const between = fc.constantFrom(' ', '\n', '\t', ', ', ' | ', '_', '" "', "' + '", '\\n')
const inCase = fc.constantFrom(
  (text: string) => text,
  (text: string) => text.toUpperCase(),
  (text: string) => `> ${text} <`,
)
const tools = fc.constantFrom('Bash', 'mcp__files__read', 'Read')
const places = fc.constantFrom(
  'input',
  'list',
  'nested',
  'field',
  'earlier input',
  'escapes',
  'base64',
  'hex',
  'turned',
)

function inputFor(place: string, text: string): unknown {
  const bytes = Buffer.from(text)
  switch (place) {
    case 'list':
      return { command: 'x', args: text.split(/(?<=\s)/) }
    case 'nested':
      return { a: [{ b: { c: text } }] }
    case 'field':
      return { [text]: 1 }
    case 'escapes':
      return { command: [...bytes].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('') }
    case 'base64':
      return { command: `echo ${bytes.toString('base64')} | base64 -d` }
    case 'hex':
      return { command: `echo ${bytes.toString('hex')} | xxd -r -p` }
    case 'turned':
      return { command: `echo '${Array.from(text).toReversed().join('')}' | rev` }
    default:
      return { command: `echo '${text}'` }
  }
}

describe('properties', () => {
  it('no result made from the words of one input meets a goal', async () => {
    await fc.assert(
      fc.asyncProperty(
        phrase,
        between,
        between,
        inCase,
        tools,
        places,
        async (words, one, other, cased, name, place) => {
          const input = inputFor(place, words.join(one))
          const result = cased(words.join(other))
          const calls: readonly Called[] =
            place === 'earlier input'
              ? [
                  { name, input, result: '' },
                  { input: { command: 'cat x' }, result },
                ]
              : [{ name, input, result }]
          const conversation = [...says('Do it.'), ...calls.flatMap((call) => works(call))]
          expect(await counts(conversation, result)).toBe(false)
        },
      ),
    )
  })

  it('no result made from pieces of the input of its own call meets a goal', async () => {
    const piece = fc.stringMatching(/^[a-z]{3,9}$/)
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { minLength: 4, maxLength: 12 }),
        fc.array(fc.nat(), { minLength: 4, maxLength: 20 }),
        fc.constantFrom('', ' ', '-', '\n'),
        async (pieces, order, glue) => {
          const result = order.map((index) => pieces[index % pieces.length]).join(glue)
          const conversation = [...says('Do it.'), ...runs(`compose ${pieces.join(' , ')}`, result)]
          expect(await counts(conversation, result)).toBe(false)
        },
      ),
    )
  })

  it('no result made from words of all earlier inputs meets a goal', async () => {
    const piece = fc.stringMatching(/^[a-z]{5,9}$/)
    await fc.assert(
      fc.asyncProperty(
        fc.array(piece, { minLength: 4, maxLength: 12 }),
        fc.array(fc.nat(), { minLength: 4, maxLength: 20 }),
        async (pieces, order) => {
          const result = order.map((index) => pieces[index % pieces.length]).join(' ')
          const earlier = pieces.flatMap((each) =>
            works({ name: 'Write', input: { file_path: each, content: each }, result: 'Written.' }),
          )
          expect(await counts([...says('Do it.'), ...earlier, ...runs('ls', result)], result)).toBe(false)
        },
      ),
    )
  })

  it('a report that shares no word with the model counts', async () => {
    const foreign = fc.stringMatching(/^[q-z]{4,9}$/)
    await fc.assert(
      fc.asyncProperty(
        fc.array(foreign, { minLength: 6, maxLength: 12 }),
        fc.stringMatching(/^[a-m ]{1,200}$/),
        async (words, own) => {
          const result = words.join(' ')
          expect(
            await counts([...says('Do it.'), ...answers(own), ...runs(own, result), ...answers(own)], result),
          ).toBe(true)
        },
      ),
    )
  })

  it('finds the same shared parts as a plain search', () => {
    const letters = fc.stringMatching(/^[ab1]{0,30}$/)
    fc.assert(
      fc.property(
        letters,
        fc.array(letters, { maxLength: 4 }),
        fc.integer({ min: 1, max: 6 }),
        (text, sources, least) => {
          const starts = Array.from({ length: Math.max(0, text.length - least + 1) }, (_, at) => at)
          const first = starts.map((at) => sources.findIndex((source) => source.includes(text.slice(at, at + least))))
          const found = firstTextsWith(text, sources, least)
          expect(found).toEqual(first.map((index) => (index === -1 ? Infinity : index)))
          const isShared = found.map((index) => index !== Infinity)
          expect(longestShared(text, isShared, least) === undefined).toBe(!isShared.includes(true))
          const left = unsharedLetters(text, isShared, least)
          expect(left).toEqual(
            Array.from(
              { length: text.length },
              (_, at) => !starts.some((start) => isShared[start] === true && start <= at && at < start + least),
            ),
          )
        },
      ),
    )
    expect(lettersOf('“All”-Tests\u00A0 ＰＡＳＳ!')).toBe('alltestspass')
  })
})
