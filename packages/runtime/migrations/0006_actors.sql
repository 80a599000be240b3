ALTER TABLE "svc"."activity" ADD COLUMN "client" text;--> statement-breakpoint
ALTER TABLE "svc"."activity" ADD COLUMN "user_id" text;--> statement-breakpoint
ALTER TABLE "svc"."activity" ADD COLUMN "key_id" text;