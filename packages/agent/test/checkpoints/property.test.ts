// Holds rules of docs/spec: R-UNDO-1 to R-UNDO-6: whatever happened, a file is exactly as it was, or untouched and named.
import { dirname, relative } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openProject, type Project } from '../support/changed-project.ts'
import { drawn } from '../support/deep.ts'

const names = ['a.txt', 'b', 'd/c.txt', 'd/e/f.txt', 'g/h'] as const
const name = fc.constantFrom(...names)
const content = fc.constantFrom('one\n', 'two\n', '', '\u0000\u0001binary', 'three\nfour\n')

const command = fc.oneof(
  fc.tuple(name, content).map(([path, text]) => `mkdir -p "$(dirname ${path})" && printf '${escaped(text)}' > ${path}`),
  name.map((path) => `rm -rf ${path}`),
  fc.tuple(name, name).map(([from, to]) => `mkdir -p "$(dirname ${to})" && mv -T ${from} ${to} || true`),
  name.map((path) => `chmod +x ${path} || true`),
  name.map((path) => `chmod -x ${path} || true`),
  name.map((path) => `rm -rf ${path}; mkdir -p "$(dirname ${path})" && ln -s ../somewhere ${path}`),
  fc.constant('rm -rf d'),
  fc.constant('rm -rf a.txt && mkdir a.txt && echo x > a.txt/inner'),
)

const inGit = fc.constantFrom(
  'git add -A && git commit -qm x || true',
  'git stash -q || true',
  'git checkout -q -f . || true',
  'git rm -q --cached a.txt || true',
  'git reset -q --hard || true',
)

const step = (commands: fc.Arbitrary<string>) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ who: fc.constant('tool' as const), path: name, text: content }) },
    { weight: 4, arbitrary: fc.record({ who: fc.constant('bash' as const), command: commands }) },
    { weight: 2, arbitrary: fc.record({ who: fc.constant('other' as const), command }) },
    { weight: 1, arbitrary: fc.constant({ who: 'new run' as const }) },
    { weight: 1, arbitrary: fc.record({ who: fc.constant('undo' as const), stays: fc.boolean() }) },
  )

function escaped(text: string): string {
  return text.replaceAll('\n', '\\n').replaceAll('\u0000', '\\000').replaceAll('\u0001', '\\001')
}

/** Folders are those of the paths in them: git has no empty ones. */
const withoutFolders = (tree: ReadonlyMap<string, string>): Map<string, string> =>
  new Map([...tree].filter(([, what]) => what !== 'folder'))

describe.each(['folder', 'git'] as const)('in a %s', (kind) => {
  test('an undo at any point restores a file exactly, or leaves and reports it', async () => {
    const steps = fc.array(step(kind === 'git' ? fc.oneof(command, inGit) : command), { minLength: 1, maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const project = openProject(kind)
        try {
          expect(await problemsOf(project, all)).toEqual([])
        } finally {
          project.remove()
        }
      }),
      { numRuns: drawn(40) },
    )
  }, 240_000)
})

function isBelowFile(path: string, tree: ReadonlyMap<string, string>): boolean {
  const above = dirname(path)
  return above !== '.' && (tree.has(above) || isBelowFile(above, tree))
}

type Step = {
  readonly who: string
  readonly path?: string
  readonly text?: string
  readonly command?: string
  readonly stays?: boolean
}

interface Touched {
  readonly before: string | undefined
  isDisturbed: boolean
}

/** What an undo did wrong. */
async function problemsOf(project: Project, steps: readonly Step[]): Promise<readonly unknown[]> {
  const problems: unknown[] = []
  const mustBe = (what: string, is: unknown, expected: unknown): void => {
    if (!isDeepStrictEqual(is, expected)) problems.push({ what, is, expected })
  }
  project.sh(
    'printf first > a.txt; mkdir d; printf inner > d/c.txt; [ -d .git ] && git add a.txt && git commit -qm first || true',
  )
  let run = 1
  // The state of each path before the run first changed it, and whether someone else changed it after that.
  const runs = new Map<number, Map<string, Touched>>()
  const note = (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>, isAgent: boolean): void => {
    for (const path of new Set([...before.keys(), ...after.keys()])) {
      if (before.get(path) === after.get(path)) continue
      for (const touched of runs.values()) {
        const known = touched.get(path)
        if (known !== undefined && !isAgent) known.isDisturbed = true
      }
      if (!isAgent) continue
      const touched = runs.get(run) ?? new Map<string, Touched>()
      runs.set(run, touched)
      if (!touched.has(path)) {
        const was = before.get(path)
        touched.set(path, { before: was === 'folder' ? undefined : was, isDisturbed: false })
      }
    }
  }
  for (const { who, path = '', text = '', command: line = '', stays = false } of [...steps, { who: 'undo' }]) {
    const whole = project.tree()
    const before = withoutFolders(whole)
    switch (who) {
      case 'new run':
        run++
        continue
      case 'tool':
        await project.use(`run${run}`, 'Read', { file_path: path })
        await project.use(`run${run}`, 'Write', { file_path: path, content: text })
        break
      case 'bash':
        await project.use(`run${run}`, 'Bash', { command: line })
        break
      case 'other':
        project.sh(`${line} || true`)
        break
      case 'undo': {
        const plan = await project.files.plan({ kind: 'undo' })
        if (plan === undefined) continue
        mustBe('left at the last moment', await project.files.apply(plan), [])
        const after = withoutFolders(project.tree())
        const left = new Set(plan.left.map((file) => relative(project.cwd, file.path)))
        const number = Number(plan.run?.slice(3))
        const touched = runs.get(number) ?? new Map<string, Touched>()
        for (const [each, { before: target, isDisturbed }] of touched) {
          if (left.has(each)) {
            // A folder stays because of its contents, and contents of a former folder because a file is there now.
            const mayStay = isDisturbed || whole.get(each) === 'folder' || isBelowFile(each, after)
            mustBe(`left: ${each}`, [after.get(each), mayStay], [before.get(each), true])
          } else mustBe(`brought back: ${each}`, after.get(each), target)
        }
        for (const each of new Set([...before.keys(), ...after.keys()]))
          if (!touched.has(each)) mustBe(`not touched: ${each}`, after.get(each), before.get(each))
        if (plan.changes.length === 0 && plan.left.length > 0) {
          // It reverted nothing (R-UNDO-4b).
          mustBe('taken back later', (await project.files.plan({ kind: 'undo' }))?.run, plan.run)
          continue
        }
        if (stays) {
          runs.delete(number)
          continue
        }
        const redo = await project.files.plan({ kind: 'redo' })
        if (redo === undefined) throw new Error('what was undone can be done again')
        mustBe('left by a redo', redo.left, [])
        await project.files.apply(redo)
        mustBe('done again', withoutFolders(project.tree()), before)
        continue
      }
    }
    note(whole, project.tree(), who !== 'other')
  }
  return problems
}
