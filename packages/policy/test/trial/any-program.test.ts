// Holds R-TRY-4 and R-TRY-6 of docs/spec: a trial changes nothing, and has the result of a real run.
import { cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { means, openProject, type Project, runLine, tryLine } from './support.ts'

/** Every path below a folder with its kind, mode, time and content. */
function snapshot(folder: string, path = ''): readonly string[] {
  const own = join(folder, path)
  return readdirSync(own)
    .toSorted()
    .flatMap((name) => {
      const at = join(path, name)
      const stats = lstatSync(join(folder, at), { bigint: true })
      const facts = `${at} ${stats.mode} ${stats.mtimeNs} ${stats.nlink}`
      if (stats.isDirectory()) return [facts, ...snapshot(folder, at)]
      const content = stats.isSymbolicLink() ? readlinkSync(join(folder, at)) : readFileSync(join(folder, at), 'latin1')
      return [`${facts} ${content}`]
    })
}

/** The same without the times of folders, in which files may have come and gone, and without files that tools recreate. */
function contents(folder: string): readonly string[] {
  return snapshot(folder)
    .filter((line) => !line.includes('__pycache__'))
    .map((line) => line.replace(/^(\S+) (\d+) \d+ \d+/, '$1 $2'))
}

function fill({ cwd, home }: Project): void {
  writeFileSync(join(cwd, 'a'), 'first\n')
  writeFileSync(join(cwd, 'b'), 'second\n')
  mkdirSync(join(cwd, 'd/e'), { recursive: true })
  writeFileSync(join(cwd, 'd/a'), 'third\n')
  mkdirSync(join(home, '.cache'))
  writeFileSync(join(home, '.cache/c'), 'cached\n')
}

const places = fc.constantFrom('a', 'b', 'd', 'd/a', 'd/e', 'new', 'd/new', 'missing/new', '__pycache__')
const commands = fc.oneof(
  fc.constantFrom(
    'true',
    'false',
    'exit 3',
    'cat a d/a',
    'grep -r r .',
    'echo hi',
    'wc -c < a',
    'pwd',
    'test -e new',
    'ls d',
  ),
  fc
    .tuple(fc.constantFrom('touch', 'mkdir', 'rm -r', 'rmdir', 'chmod 600', 'cat', 'mkdir -p'), places)
    .map((words) => words.join(' ')),
  fc.tuple(fc.constantFrom('mv', 'ln', 'ln -s', 'cp -r'), places, places).map((words) => words.join(' ')),
  fc.tuple(fc.constantFrom('echo x >', 'echo x >>', 'cat b >', ': >'), places).map((words) => words.join(' ')),
)
const programs = fc
  .array(fc.tuple(commands, fc.constantFrom('; ', ' && ', ' || ', '\n')), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.map(([command, joint]) => command + joint).join('') + 'true')

describe.skipIf(means === undefined)('A trial (needs bubblewrap and overlays)', () => {
  test(
    'changes nothing, and is conclusive only with the output, exit code and effects of a real run',
    { timeout: 200_000 },
    async () => {
      const conclusive: string[] = []
      const project = openProject()
      fill(project)
      const original = join(project.home, '../original')
      cpSync(project.cwd, original, { recursive: true, preserveTimestamps: true })
      await fc.assert(
        fc.asyncProperty(programs, async (program) => {
          const before = [snapshot(project.cwd), snapshot(project.home)]
          const tried = await tryLine(project, program)
          expect([snapshot(project.cwd), snapshot(project.home)]).toEqual(before)
          if (tried.why !== undefined) return
          conclusive.push(program)
          const ran = await runLine(project, program)
          expect([tried.output, tried.exitCode, contents(project.cwd)]).toEqual([
            ran.output,
            ran.exitCode,
            contents(original),
          ])
          rmSync(project.cwd, { recursive: true })
          cpSync(original, project.cwd, { recursive: true, preserveTimestamps: true })
        }),
        { numRuns: 20 },
      )
      expect(conclusive.length).toBeGreaterThan(3)
    },
  )
})
