import { array, assert, boolean, constant, property, record } from 'fast-check'
import { expect, test } from 'vitest'
import { editRemedy } from '../../src/sandbox/edit-detect.ts'
import { sandboxSettingsOf, editsOffReason } from '../../src/sandbox/sandbox-settings.ts'

test('an explicit false wins over an explicit true, and both over the default of the frontend (spec R-EFRONT-1)', () => {
  const file = record(
    { autoAllowBashIfSandboxed: boolean(), enabled: boolean(), network: constant({}) },
    { requiredKeys: [] },
  )
  assert(
    property(array(file, { maxLength: 5 }), boolean(), (sandbox, isDefault) => {
      const values = sandbox.flatMap(({ autoAllowBashIfSandboxed: value }) => (value === undefined ? [] : [value]))
      const isOn = values.length === 0 ? isDefault : values.every(Boolean)
      expect(editsOffReason({ sandbox, isDefault }) === undefined).toBe(isOn)
    }),
  )
})

test('the key alone does not enable the sandbox, and its default is not an explicit choice (spec R-EFRONT-1a)', () => {
  expect(sandboxSettingsOf([{ autoAllowBashIfSandboxed: true }]).enabled).toBe(false)
  expect(sandboxSettingsOf([]).autoAllowBashIfSandboxed).toBe(true)
  expect(editsOffReason({ isDefault: false })).toContain(
    'no settings file of yours has sandbox.autoAllowBashIfSandboxed',
  )
  expect(editsOffReason({ sandbox: [{ enabled: true }], isDefault: false })).toContain('no settings file')
  expect(editsOffReason({ sandbox: [{ autoAllowBashIfSandboxed: false }], isDefault: true })).toBe(
    'sandbox.autoAllowBashIfSandboxed is false',
  )
})

test.each([
  ['user/max_user_namespaces', '0', 'user.max_user_namespaces=15000'],
  ['kernel/unprivileged_userns_clone', '0', 'kernel.unprivileged_userns_clone=1'],
  ['kernel/apparmor_restrict_unprivileged_userns', '1', 'kernel.apparmor_restrict_unprivileged_userns=0'],
  ['kernel/osrelease', '6.1', '--security-opt seccomp=unconfined'],
])('%s = %s has its own remedy (spec R-EFRONT-3)', (file, value, remedy) => {
  const read = (path: string): string | undefined => (path === `/proc/sys/${file}` ? value : undefined)
  expect(editRemedy('namespaces', read)).toContain(remedy)
})

test('every other missing part has its own remedy (spec R-EFRONT-3)', () => {
  expect(editRemedy('bubblewrap')).toContain('apt install bubblewrap')
  expect(editRemedy('proc')).toContain('systempaths=unconfined')
  expect(editRemedy('home')).toContain('below your home folder')
})
