// The screens that are fetched together after the first paint of the page, so that Bench is shown soon; also the sheets of its cards.

export { Menu, OperationForm } from '../device_sheets.tsx'
export { AddDeviceScreen } from './add_device.tsx'
export { EventsScreen } from './events.tsx'
export { LabScreen } from './lab.tsx'
export { SystemScreen } from './system.tsx'
export { TeachScreen } from './teach.tsx'
export { WhoScreen } from './who.tsx'
