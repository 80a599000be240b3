// What `svc dev` imports to serve the dashboard of its box.
export { createDashboard, DASHBOARD_PATH } from './dashboard/dashboard.ts';
export type { Bootstrap, Dashboard, DashboardOptions } from './dashboard/dashboard.ts';
