// Holds R-INSTR-7, R-CMD-1, R-SKILL-1 and R-MENTION-1 of docs/spec in one run of the program. More of them: instructions.test.ts.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { call, here, installProgram, linesOf, run, script } from './support/program.ts'

installProgram()

function put(path: string, text: string): void {
  mkdirSync(dirname(join(here(), path)), { recursive: true })
  writeFileSync(join(here(), path), text)
}

test('sends instructions, a command, a mentioned file and a skill to the model', async () => {
  put('AGENTS.md', 'Use tabs.')
  put('.claude/commands/git/fix.md', '---\ndescription: Fixes.\n---\nFix $1 in @src/a.ts.')
  put('.claude/skills/deploy/SKILL.md', '---\ndescription: How to deploy.\n---\nRun the pipeline $ARGUMENTS.')
  put('src/a.ts', 'let a = 1')
  const replies = script([
    { expect: 'let a = 1', content: [call('Skill', { skill: 'deploy', args: 'twice' })] },
    { expect: 'Run the pipeline twice.', content: 'Done.' },
  ])
  const flags = ['--output-format', 'stream-json', '--verbose', '--script', replies]
  const { status, stdout, stderr } = await run(['-p', '/git:fix 12', ...flags])
  expect(linesOf(stdout)[0]).toMatchObject({
    instructions: [join(here(), 'AGENTS.md')],
    slash_commands: ['git:fix', 'deploy'],
    skills: ['deploy'],
  })
  expect([status, stderr]).toEqual([0, expect.stringContaining(`read ${join(here(), 'AGENTS.md')} (9 characters)`)])
})
