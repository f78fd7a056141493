// Holds R-RULE-9c of docs/spec: a rule that lets any program run is reported as such.
import { createPermissions } from '../../src/permissions/permissions.ts'
import { runsAnything } from '../../src/permissions/runs-anything.ts'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'

test.each([
  ['Bash(git *)', 'This rule lets git run any program (aliases, hooks, -c).'],
  ['Bash(git:*)', 'This rule lets git run any program (aliases, hooks, -c).'],
  ['Bash(git*)', 'This rule lets git run any program (aliases, hooks, -c).'],
  ['Bash(git * main)', 'This rule lets git run any program (aliases, hooks, -c).'],
  ['Bash(git -C *)', 'This rule lets git run any program (aliases, hooks, -c).'],
  ['Bash(/usr/bin/git *)', 'This rule lets git run any program (aliases, hooks, -c).'],
  ['Bash(timeout 60 git *)', 'This rule lets git run any program (aliases, hooks, -c).'],
  ['Bash(timeout 60 *)', 'This rule lets timeout run any program (the command that it is given).'],
  ['Bash(tmux new *)', 'This rule lets tmux run any program (the command that it is given).'],
  ['Bash(mise exec *)', 'This rule lets mise run any program (exec: the command that it is given).'],
  ['Bash(sudo git *)', 'This rule lets git run any program (aliases, hooks, -c).'],
  ['Bash(git rebase *)', 'This rule lets git run any program (rebase: --exec).'],
  ['Bash(git --no-pager submodule *)', 'This rule lets git run any program (submodule: foreach).'],
  ['Bash(npm *)', 'This rule lets npm run any program (scripts, exec, install).'],
  ['Bash(npm run *)', 'This rule lets npm run any program (run: scripts of package.json).'],
  ['Bash(npm run:*)', 'This rule lets npm run any program (run: scripts of package.json).'],
  ['Bash(npm x *)', 'This rule lets npm run any program (x: any package).'],
  ['Bash(npm i *)', 'This rule lets npm run any program (i: scripts of any package).'],
  ['Bash(npx *)', 'This rule lets npx run any program (any package).'],
  ['Bash(python3 *)', 'This rule lets python3 run any program (code as an argument, any script).'],
  ['Bash(python -m *)', 'This rule lets python run any program (code as an argument, any script).'],
  ['Bash(python -m pip *)', 'This rule lets pip run any program (install runs code of any package).'],
  ['Bash(node:*)', 'This rule lets node run any program (code as an argument, any script).'],
  ['Bash(bash -c *)', 'This rule lets bash run any program (-c, any script).'],
  ['Bash(make test *)', 'This rule lets make run any program (--eval, SHELL=, any makefile).'],
  ['Bash(find . *)', 'This rule lets find run any program (-exec).'],
  ['Bash(sed -n *)', 'This rule lets sed run any program (the commands e and w).'],
  ['Bash(awk *)', 'This rule lets awk run any program (system()).'],
  ['Bash(xargs *)', 'This rule lets xargs run any program (the command that it is given).'],
  ['Bash(sudo *)', 'This rule lets sudo run any program (the command that it is given).'],
  ['Bash(env A=b *)', 'This rule lets env run any program (the command that it is given).'],
  ['Bash(ssh host *)', 'This rule lets ssh run any program (commands on other machines, ProxyCommand).'],
  [
    'Bash(docker run alpine *)',
    'This rule lets docker run any program (run: in a container that may have all files of this machine).',
  ],
  ['Bash(docker *)', 'This rule lets docker run any program (run, exec, build).'],
  ['Bash(tar xf *)', 'This rule lets tar run any program (--checkpoint-action, --to-command).'],
  ['Bash(vim *)', 'This rule lets vim run any program (commands of the editor).'],
  ['Bash(less *)', 'This rule lets less run any program (! and LESSOPEN).'],
  ['Bash(man *)', 'This rule lets man run any program (--pager).'],
  ['Bash(go run *)', 'This rule lets go run any program (run: any module, -exec).'],
  ['Bash(go test:*)', 'This rule lets go run any program (test: -exec, -toolexec).'],
  ['Bash(cargo *)', 'This rule lets cargo run any program (run, install, --config).'],
  ['Bash(pip install *)', 'This rule lets pip run any program (install: code of any package).'],
  ['Bash(./scripts/*)', 'This rule lets every program in ./scripts/ run.'],
  ['Bash(* --version)', 'This rule lets every command run.'],
  ['Bash(*)', 'This rule lets every command run.'],
  ['Bash(:*)', 'This rule lets every command run.'],
  ['Bash', 'This rule lets every command run.'],
])('%s: %s', (rule, expected) => {
  expect(runsAnything(rule)).toBe(expected)
})

test.each([
  'Bash(git status)',
  'Bash(git -c a=b status)',
  'Bash(npm run build)',
  'Bash(python3 -c "print(1)")',
  'Bash(git status *)',
  'Bash(git commit:*)',
  'Bash(git add *)',
  'Bash(npm test *)',
  'Bash(npm run build *)',
  'Bash(npm run test*)',
  'Bash(npx tsc *)',
  'Bash(timeout 60 npm test *)',
  'Bash(xargs grep *)',
  'Bash(sudo systemctl restart *)',
  'Bash(python -m pytest *)',
  'Bash(python script.py *)',
  'Bash(bash scripts/build.sh *)',
  'Bash(docker ps *)',
  'Bash(kubectl get *)',
  'Bash(cargo test *)',
  'Bash(go fmt *)',
  'Bash(ls *)',
  'Bash(tsc:*)',
  'Bash(constructor *)',
  'Read(./src/**)',
  'Edit',
  'mcp__git__*',
  'nonsense (*',
])('%s does not let any program run', (rule) => {
  expect(runsAnything(rule)).toBeUndefined()
})

test('an explanation mentions once per part that the deciding rule lets any program run', () => {
  const permissions = createPermissions({ cwd: temporaryFolder(), allow: ['Bash(git *)', 'Bash(npm test)'] })
  const { parts } = permissions.explain('git -c a=b push && npm test && ls && make x')
  expect(parts.map(({ part, runsAnything: said }) => [part, said])).toEqual([
    ['git -c a=b push', 'This rule lets git run any program (aliases, hooks, -c).'],
    ['npm test', undefined],
    ['ls', undefined],
    ['make x', undefined],
  ])
  const all = createPermissions({ cwd: temporaryFolder(), allow: ['Bash'] })
  expect(all.explain('make x').parts[0]?.runsAnything).toBe('This rule lets every command run.')
})
