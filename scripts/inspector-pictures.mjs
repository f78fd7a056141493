// Takes pictures of the inspector's page into docs/pictures. It shows sessions made by the loop with a scripted model and a fixed clock. Needs chromium and a
// build.
//
//   node scripts/inspector-pictures.mjs
import { mkdirSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = resolve(import.meta.dirname, '..')
const pictures = join(root, 'docs/pictures')
const most = 200_000

const shots = [
  { name: 'inspect-sessions', fragment: '#/', height: 680 },
  { name: 'inspect-session', fragment: '#/session/flaky/1/timeline', height: 940, choose: 'Edit' },
  {
    name: 'inspect-session-dark',
    fragment: '#/session/flaky/1/timeline',
    height: 940,
    choose: 'Edit',
    key: 'e',
    isDark: true,
  },
  { name: 'inspect-plots', fragment: '#/session/flaky/1/plots', height: 940 },
  {
    name: 'inspect-what-if',
    fragment: '#/session/flaky/1/what-if',
    height: 940,
    fill: { 'Turns: turns': '8', 'Dollars: US dollars': '0.5' },
  },
  { name: 'inspect-what-if-all', fragment: '#/what-if', height: 900, press: /^Read / },
  { name: 'inspect-compare', fragment: '#/compare/flaky/flaky-again', height: 900 },
]

/** The sessions that the pictures show are written in TypeScript, next to the tests. */
async function sources() {
  const outfile = join(root, '.tmp', `pictures-${process.pid}.mjs`)
  mkdirSync(join(root, '.tmp'), { recursive: true })
  const contents = [
    `export { picturedSessions } from './packages/inspector/test/support/pictured-sessions.ts'`,
    `export { launchChromium } from './packages/inspector/test/support/chromium.ts'`,
    `export { manyRows } from './packages/inspector/test/page/support/many-rows.ts'`,
    `export { whyText } from './packages/cli/src/why/why-text.ts'`,
    `export { styleFor } from './packages/cli/src/io/style.ts'`,
  ].join('\n')
  const stdin = { contents, resolveDir: root, loader: 'ts' }
  await build({
    stdin,
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  })
  try {
    return await import(pathToFileURL(outfile).href)
  } finally {
    rmSync(outfile)
  }
}

const { picturedSessions, launchChromium, manyRows, whyText, styleFor } = await sources()
const { startInspector } = await import('@halting/inspector')
const { transcriptParts, viewOf } = await import('@halting/analysis/view')
const { accountOf } = await import('@halting/analysis')

function explainSession({ sessionId, cwd, runs }) {
  const nextStep = { says: 'Continue with:', command: `halting -p --resume ${sessionId} --max-turns 28` }
  return whyText(
    { sessionId, cwd, account: accountOf(runs[0]), stages: [], nextStep, before: [], about: [] },
    80,
    styleFor(false, {}),
  )
}

const made = (await picturedSessions()).map((session) => ({ ...session, why: () => explainSession(session) }))
const views = new Map(made.map((session) => [session.key, viewOf(session)]))
const piece = (values, from, count) => values.slice(from, from + count)
const sessionOf = (key) => made.find((session) => session.key === key)
let isList = true
const source = {
  title: 'sessions in /home/me/project',
  async *list() {
    for (const { row } of views.values()) yield row
    // They only have rows: only the list shows them.
    if (isList) for (const row of manyRows(240)) yield row
  },
  row: async (key) => views.get(key)?.row,
  session: async (key) => views.get(key),
  records: async (key, run, from, count) => piece(sessionOf(key).runs[run], from, count),
  parts: async (key, run, from, count) => piece(transcriptParts(sessionOf(key), run), from, count),
  watch: () => () => undefined,
}

const pageFolder = join(root, 'packages/cli/dist/inspector')
const inspector = await startInspector({ source, pageFolder })
const browser = await launchChromium()
try {
  for (const { name, fragment, height, choose, press, key, fill = {}, isDark = false } of shots) {
    isList = fragment === '#/'
    const colorScheme = isDark ? 'dark' : 'light'
    const page = await browser.newPage({ viewport: { width: 1_120, height }, colorScheme, reducedMotion: 'reduce' })
    await page.goto(`${inspector.url}${fragment}`)
    await page.waitForLoadState('load')
    await page.locator('main > *').first().waitFor()
    if (choose !== undefined) await page.locator('.item-label', { hasText: choose }).first().click()
    if (press !== undefined) {
      const button = page.locator('main').getByRole('button', { name: press }).first()
      if ((await button.count()) > 0) await button.click()
    }
    for (const [label, value] of Object.entries(fill)) await page.getByLabel(label, { exact: true }).fill(value)
    if (key !== undefined) await page.keyboard.press(key)
    // There is no event for the end of drawing on a canvas.
    await page.waitForTimeout(1_500)
    const path = join(pictures, `${name}.png`)
    await page.screenshot({ path })
    const { size } = statSync(path)
    console.log(`${name}.png: ${size} bytes`)
    if (size > most)
      throw new Error(`${name}.png has ${size} bytes. At most ${most} are for a picture in the documents.`)
    await page.close()
  }
} finally {
  await browser.close()
  await inspector.close()
}
