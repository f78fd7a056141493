// Spec R-VERI-10: which commands are checks, and whether they passed.
import { expect, test } from 'vitest'
import { commandWork } from '../../src/checks/command-work.ts'

test('tells of a check that passed and of lines that were written', () => {
  expect(commandWork('npm test', { exitCode: 0, output: '' })).toEqual({ check: { command: 'npm test', passed: true } })
  expect(commandWork('npm test', { exitCode: 1, output: '' })).toEqual({
    check: { command: 'npm test', passed: false },
  })
  expect(commandWork("cat > a.js <<'EOF'\none\ntwo\nEOF", { exitCode: 0, output: '' })).toEqual({ changedLines: 2 })
  expect(commandWork('ls -l', { exitCode: 0, output: 'a.js' })).toBeUndefined()
})
