import { changeSettingsFile, ownSettingsFile, settingsTextWith } from '@halting/policy/settings'
import { homeFolder } from '@halting/policy/files'
import type { Program } from '../../program.ts'
import type { ThemeName } from '../theme.ts'

// Loaded when somebody chooses one.

/** Writes it into the person's own settings; gives the file. @throws ConfigurationError for one that cannot be changed. */
export async function saveTheme(theme: ThemeName, program: Program): Promise<string> {
  const path = ownSettingsFile({ ...program, home: homeFolder(program.env) })
  await changeSettingsFile(path, (text) => settingsTextWith(text, [{ path: ['theme'], value: theme }]))
  return path
}
