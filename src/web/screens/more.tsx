// The screens that are fetched together after the first paint of the page, so that Bench is shown soon; also the
// parts of the first screen that are opened by a press.

export { Camera } from '../barcode_camera.tsx'
export { LastWords, Values } from '../device_details.tsx'
export { Menu, OperationForm } from '../device_sheets.tsx'
export { Cannot, Elsewhere } from '../need_answers.tsx'
export { OpenRuns } from '../open_runs.tsx'
export { SomebodyMovedIt } from '../somebody_moved_it.tsx'
export { AddDeviceScreen } from './add_device.tsx'
export { EventsScreen } from './events.tsx'
export { LabScreen } from './lab.tsx'
export { SystemScreen } from './system.tsx'
export { TeachScreen } from './teach.tsx'
export { VersionsScreen } from './versions.tsx'
export { WhoScreen } from './who.tsx'
